-- What keeps the connection from seeing or doing all: [{code, modules}]. Read at consent and at each discovery.
alter table connectors add column warnings jsonb not null default '[]';
