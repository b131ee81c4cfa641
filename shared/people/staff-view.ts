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
 * Lets a staff member into an org for an hour as an admin who is not a member: to look, or to write as well. A session like any other,
 * so that it ends with the org's closing, with a ban, and when its person is no longer staff.
 */
export const openStaffView = (
  db: Pool,
  config: Pick<Config, 'SESSION_KEYS'>,
  by: NonNullable<Staff>,
  {org, write, reason}: View,
): Promise<{token: string; expiresAt: string}> =>
  db.transaction(async tx => {
    if ((await lockOpenable(tx, org)).closedAt !== null)
      throw new Refusal('ORG_CLOSED', 'This org is closed: open it before you look into it')
    const row = {id: newId('ses'), person: by.id, org, role: 'admin', hours: lifeHours, staffView: write ? 'write' : 'read'} as const
    const session = await insertSession(tx, row)
    await recordStaffAction(tx, by, {kind: 'view', org, reason, detail: {write, role: row.role, session: session.id}})
    return {token: await signId(config.SESSION_KEYS, 'session', session), expiresAt: session.expiresAt}
  })
