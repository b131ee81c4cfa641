-- The org's guard. Null: schedules have the usual guard, other runs have none.
alter table org_settings add column guard jsonb;
