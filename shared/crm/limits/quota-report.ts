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
  ...{remaining: null, remainingAt: null, allowance: null, allowanceAtLeast: false, edition: null, spent: false, spentAt: null},
}

export const hasQuota = ({kind, state}: Pick<ConnectorRow, 'kind' | 'state'>) => kindsWithQuota.includes(kind) && state === 'connected'

/** Reads the stored quota of a connection's CRM org. The connection may be disconnected: others to the same org may have stored newer values. */
export const readQuota = async (db: Db, {kind, dc, crmOrgId}: ConnectorRow): Promise<CrmQuotaRow> =>
  (kindsWithQuota.includes(kind) && (await findCrmQuota(db, {dc, crmOrgId}))) || unknown
