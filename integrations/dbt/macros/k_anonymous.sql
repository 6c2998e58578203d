{#- Groups of fewer than k rows that look alike on the quasi-identifiers; a missing value is a value. -#}
{% test k_anonymous(model, quasi_identifiers, k=5) %}
select count(*) as rows_alike
from {{ model }}
group by {{ reissue.columns(quasi_identifiers) }}
having count(*) < {{ k }}
{% endtest %}
