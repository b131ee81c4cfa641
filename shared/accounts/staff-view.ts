import type {Pool} from '../../sql/database.ts'
import {insertSession} from '../../sql/sessions.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import {lockOpenable} from './closing.ts'
import {signId} from './signed.ts'
import {recordStaffAction, type Staff} from './staff-action.ts'

const lifeHours = 1

type View = {org: string; write: boolean; reason: string}

/**
 * Opens a session of one hour in which a staff member acts as an admin of the org without being a member. `write`: the session may also write. The
 * session ends early if the org is closed, or if the person is banned or no longer staff.
 */
export const openStaffView = (
  db: Pool,
  config: Pick<Config, 'SESSION_KEYS'>,
  by: NonNullable<Staff>,
  {org, write, reason}: View,
): Promise<{token: string; expiresAt: string}> =>
  db.transaction(async tx => {
    if ((await lockOpenable(tx, org)).closedAt !== null) throw new Refusal('ORG_CLOSED', 'This org is closed. Open it before you view it')
    const row = {id: newId('ses'), person: by.id, org, role: 'admin', hours: lifeHours, staffView: write ? 'write' : 'read'} as const
    const session = await insertSession(tx, row)
    await recordStaffAction(tx, by, {kind: 'view', org, reason, detail: {write, role: row.role, session: session.id}})
    return {token: await signId(config.SESSION_KEYS, 'session', session), expiresAt: session.expiresAt}
  })
