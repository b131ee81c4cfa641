import {isDeepStrictEqual} from 'node:util'
import type {Db, Pool} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {KINDS} from './kind.ts'
import {keepNotify, type Notify, readNotify} from './notify.ts'

const noRecipients: Notify = {emails: [], endpoints: [], on: [...KINDS]}

export const describeNotices = async (db: Db, {SMTP_URL}: Pick<Config, 'SMTP_URL'>, org: string) => ({
  notices: (await readNotify(db, {org, schedule: null})) ?? noRecipients,
  mail: {configured: Boolean(SMTP_URL)},
})

/** The settings history stores the number of people instead of addresses, so that erasing a person leaves no address behind. */
export const keepNotices = ({db, config}: {db: Pool; config: Config}, author: Author, notify: Notify) =>
  db.transaction(async tx => {
    const {org} = author
    await lockOrg(tx, org)
    const before = await readNotify(tx, {org, schedule: null})
    const isNobody = notify.emails.length === 0 && notify.endpoints.length === 0
    await keepNotify(tx, config, {org, schedule: null, notify: isNobody ? null : notify})
    const answer = await describeNotices(tx, config, org)
    if (isDeepStrictEqual(before ?? noRecipients, answer.notices)) return answer
    const [was, is] = [toldOf(before ?? noRecipients), toldOf(answer.notices)]
    await recordChanges(tx, author, [{page: 'notices', subject: 'notices', before: was, after: is}])
    return answer
  })

const toldOf = ({emails, endpoints, on}: Notify) => ({people: emails.length, endpoints, on})
