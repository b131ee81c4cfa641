-- When a share of a run in this CRM org was last deleted.
alter table crm_budgets add column freed_at timestamptz;
