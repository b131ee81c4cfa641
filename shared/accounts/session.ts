import type {Db, Pool, Tx} from '../../sql/database.ts'
import {holdMember} from '../../sql/members.ts'
import {lockPerson} from '../../sql/people.ts'
import {type Device, deleteOtherSignIns, deleteSignIn, findSessionPerson, insertRefreshed, insertSession} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import type {Crm} from '../crm/crm.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Log} from '../telemetry/log.ts'
import {followCrmUser} from './follow.ts'
import type {Role} from './roles.ts'
import {readSignedId, signId} from './signed.ts'

export const sessionHours = 8
/** A sign-in ends after this time, however often its session is refreshed. */
const signInDays = 30

type NewSession = {person: string; org: string | null; role: Role | null; device?: Device | undefined; home?: string | null}

/**
 * Creates a session and returns a signed token with its id. `role` limits the session's rights until the session is refreshed. `home`: the org
 * whose CRM admitted the person, or null.
 */
export const openSession = async (
  db: Db,
  config: Pick<Config, 'SESSION_KEYS'>,
  {person, org, role, device, home}: NewSession,
): Promise<string> => {
  const session = await insertSession(db, {id: newId('ses'), person, org, role, hours: sessionHours, device, home})
  return signId(config.SESSION_KEYS, 'session', session)
}

type SessionDeps = {db: Pool; config: Pick<Config, 'SESSION_KEYS'>; crm: Crm; log: Log}
type RefreshInput = {person: string; org: string | null; session: string; device: Device; signal: AbortSignal}

/**
 * Creates a new session of the same sign-in, with the member's current role. Throws AUTH_REQUIRED if the person's CRM user is inactive or the
 * session has ended.
 */
export const refreshSession = async (
  {db, config, crm, log}: SessionDeps,
  {person, org, session, device, signal}: RefreshInput,
): Promise<string> => {
  if (org !== null && !(await followCrmUser({db, crm, log}, {org, person, signal})).isActive)
    throw new Refusal('AUTH_REQUIRED', 'Your CRM account is not active. Ask a CRM administrator to activate it, then sign in again')
  const refreshed = await withSignIns(db, person, async tx => {
    const role = org === null ? null : ((await holdMember(tx, {org, person}))?.role ?? null)
    return insertRefreshed(tx, {id: newId('ses'), from: session, org, role, hours: sessionHours, chainDays: signInDays, device})
  })
  if (!refreshed) throw new Refusal('AUTH_REQUIRED', 'The session has ended. Sign in again')
  return signId(config.SESSION_KEYS, 'session', refreshed)
}

type SessionOwner = {person: string; session: string}

export const signOut = (db: Pool, own: SessionOwner) => withSignIns(db, own.person, tx => deleteSignIn(tx, own))

/** Ends the sign-in of a session token, if the token is valid. Call this after a new sign-in in the same browser. */
export const endReplaced = async (db: Pool, {SESSION_KEYS}: Pick<Config, 'SESSION_KEYS'>, token: string): Promise<void> => {
  const session = await readSignedId(SESSION_KEYS, 'session', token)
  const person = session && (await findSessionPerson(db, session))
  if (person) await signOut(db, {person, session})
}

export const endOtherSignIns = (db: Pool, own: SessionOwner): Promise<number> =>
  withSignIns(db, own.person, tx => deleteOtherSignIns(tx, own))

/** Serialises refreshes and sign-outs of one person, so that no refresh can create a session after a sign-out. */
const withSignIns = <T>(db: Pool, person: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.transaction(async tx => {
    await lockPerson(tx, person)
    return work(tx)
  })
