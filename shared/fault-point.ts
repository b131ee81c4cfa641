export type FaultPoint =
  | 'in_index'
  | 'after_lookup'
  | 'export_started'
  | 'export_stored'
  | 'bulk_intended'
  | 'bulk_composed'
  | 'bulk_uploaded'
  | 'bulk_answered'
  | 'bulk_started'
  | 'bulk_ended'
  | 'after_search'
  | 'after_intent'
  | 'after_send'
  | 'before_settle'
  | 'before_verified'
  | 'after_verified'
  | 'in_close'
  | 'in_plan'
  | 'in_archive'
  | 'in_clock'
  | 'in_retention'
  | 'after_fetch'
  | 'after_import'
  | 'after_source'
  | 'after_contract'
  | 'after_part'
  | 'after_start'
  | 'after_notice'
  | 'in_event'
  | 'after_plan_change'
  | 'after_payment_answer'
  | 'between_payment_calls'
  | 'before_billing_release'
  | 'before_topup'
  | 'after_topup'

type Blow = NodeJS.Signals | 'LOOP'
type Strike = (blow: Blow) => void
let armed: {point: FaultPoint; passes: number; blow: Blow; strike: Strike} | null = null

/**
 * Makes a process fail at a named point, for tests only; never set this in production. `FAULT_POINT=after_send:3` kills the process the third
 * time it passes, `after_send:3:SIGSTOP` suspends it, and `after_send:3:LOOP` makes it hang. `strike` replaces that action.
 */
export const armFault = (setting: string | undefined, strike: Strike = strikeProcess) => {
  const [point, passes = '1', blow = 'SIGKILL'] = setting?.split(':') ?? []
  armed = point ? {point: point as FaultPoint, passes: Number(passes), blow: blow as Blow, strike} : null
}

const strikeProcess: Strike = blow => {
  if (blow !== 'LOOP') return void process.kill(process.pid, blow)
  for (;;);
}

export const atPoint = (point: FaultPoint) => {
  if (armed?.point !== point || --armed.passes !== 0) return
  armed.strike(armed.blow)
}
