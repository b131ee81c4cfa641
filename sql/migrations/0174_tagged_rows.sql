-- Whether the record of the row has got the tags of its flow.
alter table chain_rows add column tagged boolean not null default false;
