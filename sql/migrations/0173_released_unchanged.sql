-- Whether an external run counts a row that was not sent as unchanged, so that the count falls if the row is sent later.
alter table released_attempts add column unchanged boolean not null default false;
