{#- Column names for a `group by`, quoted as the database wants it. -#}
{% macro columns(names) -%}
{%- for name in names %}{{ adapter.quote(name) }}{{ ", " if not loop.last }}{% endfor -%}
{%- endmacro %}
