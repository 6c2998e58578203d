{#- Groups in which fewer than l different sensitive values occur; a missing value is a value. -#}
{% test l_diverse(model, quasi_identifiers, sensitive, l=3) %}
{%- set value = adapter.quote(sensitive) %}
select count(distinct {{ value }}) + max(case when {{ value }} is null then 1 else 0 end) as different_values
from {{ model }}
group by {{ reissue.columns(quasi_identifiers) }}
having count(distinct {{ value }}) + max(case when {{ value }} is null then 1 else 0 end) < {{ l }}
{% endtest %}
