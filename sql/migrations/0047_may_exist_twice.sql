-- An unanswered create of the row may have made a second record. Every run of the chain reports it.
alter table chain_rows add column may_exist_twice boolean not null default false;
