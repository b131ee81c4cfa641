-- By module number: the highest record id at the CRM before the chain's first create in that module. Only the first run of a chain that writes there has it.
alter table run_heads add column newest_ids jsonb;
