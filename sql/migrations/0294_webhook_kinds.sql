-- `kind`: the form of a notice that the endpoint reads. `json`: signed by Standard Webhooks; `slack`, `teams`: a message of that product, unsigned.
alter table webhook_endpoints add column kind text not null default 'json';
alter table webhook_endpoints add constraint webhook_endpoints_kind check (kind in ('json', 'slack', 'teams')) not valid;
