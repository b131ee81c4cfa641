import {CrmError} from '../shared/crm/crm.ts'
import {hasQuota, type QuotaCheck, readQuota} from '../shared/crm/limits/quota-report.ts'
import {Refusal} from '../shared/errors.ts'
import {checkCredits} from '../shared/jobs.ts'
import {type ConnectorRow, findConnector} from '../sql/connectors.ts'
import {isQuotaExhausted, keepLicence, returnQuotaCheck, takeQuotaCheck} from '../sql/crm-quota.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

const checkEverySeconds = 30

type QuotaCheckTarget = Omit<QuotaCheck, 'credits'>

/** Reads the remaining quota of connections. Four run at once, because each is one call that may hang until its timeout. */
export default worker(checkCredits, {concurrency: 4}, async ({org, connector: id}, work) => {
  const connector = await findConnector(work.db, {org, id})
  if (!connector) throw new Refusal('NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const asked = hasQuota(connector) ? await checkOnce(work, connector) : cannot
  return {credits: await readQuota(work.db, connector), ...asked}
})

const cannot: QuotaCheckTarget = {asked: false, answered: false, notAsked: 'cannot'}
const tooSoon: QuotaCheckTarget = {asked: false, answered: false, notAsked: 'too_soon'}
const checked = (answered: boolean): QuotaCheckTarget => ({asked: true, answered, notAsked: null})

/**
 * Reads the remaining quota if no such read of this connection began in the last 30 s. While the quota is exhausted, the CRM client decides
 * instead: it lets one call a minute through and refuses the others.
 */
const checkOnce = async (work: Work, connector: ConnectorRow): Promise<QuotaCheckTarget> => {
  const isDue = await takeQuotaCheck(work.db, connector.id, {seconds: checkEverySeconds})
  const spent = await isQuotaExhausted(work.db, connector)
  if (!isDue && !spent) return tooSoon
  const target = await readLicenceQuota(work, connector, {onlyAsProbe: spent})
  if (isDue && spent && !target.asked) await returnQuotaCheck(work.db, connector.id)
  return target
}

const readLicenceQuota = async (
  {crm, db, signal}: Work,
  connector: ConnectorRow,
  {onlyAsProbe}: {onlyAsProbe: boolean},
): Promise<QuotaCheckTarget> => {
  try {
    const licence = await (await crm.open(connector.id)).readLicence({signal, onlyAsProbe})
    if (licence) await keepLicence(db, connector, licence)
    return checked(true)
  } catch (error) {
    if (error instanceof CrmError) return checked(error.crm.quotaSpent)
    if (error instanceof Refusal) return meaningOf(error)
    throw error
  }
}

/** Returns the result of the check for a refusal: `asked` if the grant has ended, `too_soon` if a later check may succeed, else `cannot`. */
const meaningOf = ({code, extra}: Refusal): QuotaCheckTarget => {
  if (code === 'DAILY_ALLOWANCE_SPENT' || code === 'CONNECTION_THROTTLED' || code === 'UNAVAILABLE') return tooSoon
  return code === 'CONNECTION_UNAVAILABLE' && extra.connection === 'ended' ? checked(false) : cannot
}
