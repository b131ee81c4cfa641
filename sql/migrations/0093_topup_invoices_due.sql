-- concurrently
create index concurrently if not exists topup_attempts_invoice_due on topup_attempts (id) where invoice_state = 'due';
