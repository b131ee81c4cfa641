import {type CreditCheck, hasCredits, readCredits} from '../shared/crm/credits.ts'
import {CrmError} from '../shared/crm/crm.ts'
import {Refusal} from '../shared/errors.ts'
import {checkCredits} from '../shared/jobs.ts'
import {isSpent, keepLicence, takeCreditsCheck} from '../sql/allowances.ts'
import {type ConnectorRow, findConnector} from '../sql/connectors.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

const checkEverySeconds = 30

type Asked = Omit<CreditCheck, 'credits'>

/** Four at once: each is one call, which may hang for as long as calls may. */
export default worker(checkCredits, {concurrency: 4}, async ({org, connector: id}, work) => {
  const connector = await findConnector(work.db, {org, id})
  if (!connector) throw new Refusal('NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const asked = hasCredits(connector) ? await askOnce(work, connector) : cannot
  return {credits: await readCredits(work.db, connector), ...asked}
})

const cannot: Asked = {asked: false, answered: false, notAsked: 'cannot'}
const tooSoon: Asked = {asked: false, answered: false, notAsked: 'too_soon'}
const sent = (answered: boolean): Asked => ({asked: true, answered, notAsked: null})

/** While the day is spent the gate before every call paces this one too. Otherwise the connection's own pace does. */
const askOnce = async (work: Work, connector: ConnectorRow): Promise<Asked> => {
  const isDue = await takeCreditsCheck(work.db, connector.id, {seconds: checkEverySeconds})
  const spent = await isSpent(work.db, connector)
  return isDue || spent ? askLicence(work, connector, {onlyAsProbe: spent}) : tooSoon
}

const askLicence = async ({crm, db, signal}: Work, connector: ConnectorRow, {onlyAsProbe}: {onlyAsProbe: boolean}): Promise<Asked> => {
  try {
    const licence = await (await crm.open(connector.id)).readLicence({signal, onlyAsProbe})
    if (licence) await keepLicence(db, connector, licence)
    return sent(true)
  } catch (error) {
    if (error instanceof CrmError) return sent(error.crm.quotaSpent)
    if (error instanceof Refusal) return meaningOf(error)
    throw error
  }
}

/** What kept the call from being sent. A grant the CRM no longer honours was met on the way, which counts as asking. */
const meaningOf = ({code, extra}: Refusal): Asked => {
  if (code === 'DAILY_ALLOWANCE_SPENT' || code === 'CONNECTION_THROTTLED' || code === 'UNAVAILABLE') return tooSoon
  return code === 'CONNECTION_UNAVAILABLE' && extra.connection === 'ended' ? sent(false) : cannot
}
