import test from 'ava'
import type {Budget} from '../../../shared/crm/limits/budget.ts'
import {openShare} from '../../../workers/writes/slot-shares.ts'

test('an idle share of external engines is kept until the process is asked to stop', async t => {
  let closed = 0
  const budget = {open: () => ({close: async () => void closed++})} as unknown as Budget
  const process = new AbortController()
  const share = openShare({budget, drain: process.signal}, {dc: 'eu', crmOrgId: '1'})
  await share.close()
  t.is(closed, 0)
  process.abort()
  t.is(closed, 1)
})
