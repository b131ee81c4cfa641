-- What the doctor found the CRM to take, such as the values of one query. What is absent has its usual value.
alter table connectors add column capabilities jsonb not null default '{}';
