import {declined, type Expected, type Fault, type Row} from './fault-table.ts'

/**
 * One reason why a connection's access token is not renewed. `ended`: whether our copy of the token has expired. If so, the renewal comes
 * before the call; otherwise the CRM refuses the call first.
 */
export type AccessRow = Omit<Row, 'faults' | 'fresh'> & {
  ended: boolean
  /** Faults at the accounts host. */
  there: Fault['action'][]
  /** Renewals of this grant recorded within the last ten minutes. */
  minted?: number
  /** Number of token requests to the accounts host. */
  renewals: number
}

/** Expected if a renewal is throttled after a call. Lading passes on the CRM's 401 and adds the wait until a renewal is allowed. */
const throttledLate: Expected = {
  relayed: declined('INVALID_TOKEN', 401, {rateLimited: true, retryable: true}),
  waits: {upTo: 600_000},
}
const throttled: Expected = {refused: 'CONNECTION_THROTTLED', retryAfterMs: {upTo: 600_000}}
const unavailable: Expected = {refused: 'CONNECTION_UNAVAILABLE'}
const over: Expected = {refused: 'CONNECTION_UNAVAILABLE', ends: true}
const refused = (error: string) => ({type: 'answer' as const, status: 200, body: {error}})

const before = (fault: string, there: Fault['action'], all: Expected): AccessRow => ({
  fault,
  ended: true,
  there: [there],
  all,
  does: false,
  calls: 0,
  renewals: 1,
})
const late = (fault: string, there: Fault['action'], all: Expected): AccessRow => ({
  fault,
  ended: false,
  there: [there],
  all,
  does: false,
  calls: 1,
  renewals: 1,
})

export const accessRows: AccessRow[] = [
  before('n: the grant is revoked, found at the renewal', 'revokeGrant', over),
  late('n: the grant is revoked, found at the renewal after the call', 'revokeGrant', over),
  before('o: the renewal is throttled', 'tokenThrottle', throttled),
  late('o and 10: the renewal is throttled after the call', 'tokenThrottle', throttledLate),
  before('p: the accounts host fails', 'tokenDown', unavailable),
  before('p: the accounts host does not answer', {type: 'tokenDown', drop: true}, unavailable),
  late('p: the accounts host fails after the call', {type: 'tokenDown', status: 500}, unavailable),
  late('p: the accounts host does not answer after the call', {type: 'tokenDown', drop: true}, unavailable),
  before('19: the accounts host does not know our client', refused('invalid_client'), unavailable),
  before('19: the accounts host refuses for an unknown reason', refused('general_error'), unavailable),
  {fault: '18: the eleventh token in ten minutes', ended: true, there: [], minted: 10, all: throttled, does: false, calls: 0, renewals: 0},
  {
    fault: '10: the eleventh token in ten minutes, after the call',
    ended: false,
    there: [],
    minted: 10,
    lasts: true,
    all: throttledLate,
    does: false,
    calls: 1,
    renewals: 0,
  },
]
