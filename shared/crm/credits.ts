import {z} from 'zod'
import {Allowance, type AllowanceRow, findAllowance} from '../../sql/allowances.ts'
import type {ConnectorRow} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'

/** The kinds of connection whose credits can be asked for. */
const kindsWithCredits = ['zoho']

export const CreditCheck = z.object({
  credits: Allowance,
  /** A call was sent. */
  asked: z.boolean(),
  /** The CRM answered it as asked, or refused it because its day is spent. */
  answered: z.boolean(),
  notAsked: z.enum(['cannot', 'too_soon']).nullable(),
})
export type CreditCheck = z.output<typeof CreditCheck>

const unknown: AllowanceRow = {
  ...{remaining: null, remainingAt: null, allowance: null, allowanceAtLeast: false, edition: null, spent: false, spentAt: null},
}

export const hasCredits = ({kind, state}: Pick<ConnectorRow, 'kind' | 'state'>) => kindsWithCredits.includes(kind) && state === 'connected'

/** Also for a connection that is over: the org's others may have heard more since. */
export const readCredits = async (db: Db, {kind, dc, crmOrgId}: ConnectorRow): Promise<AllowanceRow> =>
  (kindsWithCredits.includes(kind) && (await findAllowance(db, {dc, crmOrgId}))) || unknown
