-- `invoice_state`: `due` once the top-up is paid, `issued` once its invoice is, `failed` where the provider refuses one. `none`: no invoice belongs to it, as before this migration.
alter table topup_attempts add column invoice_state text not null default 'none', add column invoice_id text;
