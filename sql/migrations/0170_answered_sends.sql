-- The CRM's answer to this batch has arrived and the records it created are claimed, so the batch can create no further record. It is not settled yet.
alter table sends add column answered boolean not null default false;
