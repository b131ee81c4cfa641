-- When the CRM last changed the record for this row, by the CRM's clock. Null: the CRM did not say.
alter table chain_rows add column written_at timestamptz;
