import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {chaosEnvironment, openChaosRuns, playCell} from './chaos-lane.ts'
import {nameOf} from './r19-chaos.ts'
import {listIdempotencyCells} from './r20-idempotency.ts'

/** Cells of scenario R20 that cover each fault that loses an answer. `npm run faults -- --only R20` runs every cell. */
const cells = [
  'COQL lag 30 s × nothing unique',
  'COQL empty × matched by e-mail',
  'arrives 20 s late × two equal imports',
  'delivered twice, first answer × nothing unique',
  'delivered twice, second answer × duplicate keys',
  'short answers × nothing unique',
  'wrong ids × matched by e-mail',
  'clock jumps × two equal imports',
]

test('with an idempotency field, chaos makes no record twice, and no record may be another row’s', async t => {
  t.timeout(180_000)
  const environment = chaosEnvironment(0.5, 2 * cells.length)
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment, crm: {journal: {limit: 5_000}}})
  const waiting = listIdempotencyCells({seed: 1, seeds: 1, cells})
  t.is(waiting.length, cells.length)
  const nextLane = openChaosRuns(here, {isIdempotent: true})
  const wrong = await Promise.all(
    waiting.map(async cell => (await playCell(await nextLane(), cell)).flatMap(({says}) => says.map(line => `${nameOf(cell)}: ${line}`))),
  )
  t.deepEqual(wrong.flat(), [])
})
