import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import type {CrmOrg} from '../../../sql/crm-quota.ts'
import type {Pool} from '../../../sql/database.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../telemetry/log.ts'
import {openShareChanges} from './share-changes.ts'
import {openShareHolder, type ShareHolder} from './share-holder.ts'
import type {Slots} from './slots.ts'

/** The slots of one run, or of all ad-hoc calls, at one CRM org. Large calls are queries, and writes of more than ten records. */
export type SlotShare = {
  large: Slots
  small: Slots
  /** Shrinks the org's slot pool for a while. Call this if the CRM refused because of too many concurrent calls. Never throws. */
  cut(): Promise<void>
  close(): Promise<void>
}

/** Opens shares of slot pools for this process. All processes divide the pool of a CRM org among them through Postgres. */
export type Budget = {
  open(org: CrmOrg, run: number | null): SlotShare
  close(): Promise<void>
}

type BudgetDeps = {db: Pool; config: Pick<Config, 'CRM_SLOTS' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>; log: Log}

export const openBudget = ({db, config, log}: BudgetDeps): Budget => {
  const holder = `${hostname()}:${process.pid}:${randomUUID()}`
  const changes = openShareChanges({config, log, holder})
  const orgs = new Map<string, ShareHolder>()
  let shares = 0
  return {
    open(org, run) {
      const key = `${org.dc}.${org.crmOrgId}`
      const party = orgs.get(key) ?? openShareHolder({db, config, log, changes}, org, holder)
      orgs.set(key, party)
      return party.join(++shares, run)
    },
    async close() {
      await changes.close()
      await Promise.all([...orgs.values()].map(({close}) => close()))
    },
  }
}
