import test from 'ava'
import {GenericDocument} from '../../shared/crm/generic-document.ts'
import {fuzz} from '../fuzz/run.ts'

/** Runs `npm run fuzz` with few requests and a fixed seed. Findings of longer runs have tests of their own. */
test('requests drawn from the route table are answered as declared', async t => {
  const {failures, requests, reached, byStatus} = await fuzz({requests: 1500, seed: 1, seconds: 60})
  t.deepEqual(failures, [])
  t.true(requests > 1000 && reached > 80, `${requests} requests reached ${reached} routes: ${JSON.stringify(byStatus)}`)
})

test('an invalid destination address is refused without an exception', t => {
  for (const baseUrl of ['x', '', 'https://', 'x'.repeat(1001)]) t.false(GenericDocument.safeParse({baseUrl, modules: []}).success)
})
