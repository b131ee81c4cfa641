import test from 'ava'
import {Document} from '../../shared/crm/generic-document.ts'
import {fuzz} from '../fuzz/run.ts'

/** The same as `npm run fuzz`, of a fixed seed and small: what it finds in hours is kept as a test of its own where it was mended. */
test('requests drawn from the route table are answered as declared', async t => {
  const {failures, requests, reached, byStatus} = await fuzz({requests: 1500, seed: 1, seconds: 60})
  t.deepEqual(failures, [])
  t.true(requests > 1000 && reached > 80, `${requests} requests reached ${reached} routes: ${JSON.stringify(byStatus)}`)
})

test('an address of a destination that is none is refused, and breaks nothing', t => {
  for (const baseUrl of ['x', '', 'https://', 'x'.repeat(1001)]) t.false(Document.safeParse({baseUrl, modules: []}).success)
})
