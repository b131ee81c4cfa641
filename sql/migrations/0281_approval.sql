-- A run that may write more rows needs a sealed plan that another admin approved. Null: no run needs approval.
alter table org_settings add column approval_above bigint;
