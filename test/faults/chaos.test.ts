import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {chaosEnvironment, openChaosRuns, playCell} from './chaos-lane.ts'
import {listCells, nameOf} from './r19-chaos.ts'

/** Cells that cover each fault and each kind of file. `npm run faults -- --only R19` runs every cell with twenty seeds. */
const cells = [
  'COQL lag 0 s × two equal imports',
  'COQL lag 10 s × unique field, no match',
  'COQL lag 30 s × duplicate keys',
  'COQL empty × nothing unique',
  'COQL empty × matched by e-mail',
  'arrives 7 s late × updates only',
  'arrives 20 s late × nothing unique',
  'clock jumps × nothing unique',
  'delivered twice, first answer × unique field',
  'delivered twice, second answer × matched by e-mail',
  'short answers × parents and children',
  'wrong ids × nothing unique',
  'short answers × updates only',
]
const seed = 1
const lanesAtOnce = 13

test('records under chaos are neither lost, duplicated nor wrong without being reported', async t => {
  t.timeout(400_000)
  const environment = chaosEnvironment(0.5, 2 * lanesAtOnce)
  const here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment, crm: {journal: {limit: 5_000}}})
  const waiting = listCells({seed, seeds: 1, cells})
  t.is(waiting.length, cells.length)
  const wrong: string[] = []
  const nextLane = openChaosRuns(here)
  const walk = async () => {
    const lane = await nextLane()
    for (let cell = waiting.shift(); cell; cell = waiting.shift())
      for (const {says} of await playCell(lane, cell)) wrong.push(...says.map(line => `${nameOf(cell!)}: ${line}`))
  }
  await Promise.all(Array.from({length: lanesAtOnce}, walk))
  t.deepEqual(wrong, [])
})
