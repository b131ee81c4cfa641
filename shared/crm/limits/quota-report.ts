import {z} from 'zod'
import type {ConnectorRow} from '../../../sql/connectors.ts'
import {CrmQuotaEntry, type CrmQuotaRow, findCrmQuota} from '../../../sql/crm-quota.ts'
import type {Db} from '../../../sql/database.ts'

const kindsWithQuota = ['zoho']

export const QuotaCheck = z.object({
  credits: CrmQuotaEntry,
  asked: z.boolean(),
  /** True if the CRM accepted the call, or refused it because the quota is exhausted. */
  answered: z.boolean(),
  notAsked: z.enum(['cannot', 'too_soon']).nullable(),
})
export type QuotaCheck = z.output<typeof QuotaCheck>

const unknown: CrmQuotaRow = {
  remaining: null,
  remainingAt: null,
  allowance: null,
  allowanceAtLeast: false,
  edition: null,
  spent: false,
  spentAt: null,
}

export const countsCredits = (kind: string | null): boolean => kind !== null && kindsWithQuota.includes(kind)

export const hasQuota = ({kind, state}: Pick<ConnectorRow, 'kind' | 'state'>) => countsCredits(kind) && state === 'connected'

/**
 * Reads the quota of the connection's CRM org. Calls of other connections to this CRM org change the same quota. All values are null if no quota
 * is known.
 */
export const readQuota = async (db: Db, {kind, dc, crmOrgId}: ConnectorRow): Promise<CrmQuotaRow> =>
  (countsCredits(kind) && (await findCrmQuota(db, {dc, crmOrgId}))) || unknown
