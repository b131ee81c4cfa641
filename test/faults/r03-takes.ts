import {openOrg} from '../importing.ts'
import {authorise, type Here, make, take, taken} from '../taking.ts'
import {environment} from './carried.ts'
import type {Scenario, Stage} from './scenario.ts'
import {playTakingImport} from './taking-import.ts'
import {loseCreate, playWhys, renewAccess} from './whys.ts'

const clocks = {'as ours': 0, 'two hours ahead': 2, 'two hours behind': -2}
const rounds = 10

/**
 * Creates that are lost on the wire and refused as duplicates when they are sent again: whether the record the CRM names is the row's.
 * By a caller of the record routes, for every `why` of the specification; by rows that race; and by an import of the service's own.
 */
export const takes: Scenario = {
  row: 'R3',
  fault: 'a create is lost, and refused as a duplicate when it is sent again: the record may be the row’s, anybody’s, or gone',
  goal: 'each take answers its why; of all that ask for a record one gets it',
  async play(stage) {
    const world = await stage.open({workers: ['discovery', 'writes', 'imports'], environment: {...environment, CRM_TIMEOUT_SECONDS: '2'}})
    const here: Here = {world, org: await openOrg(world)}
    for (const [clock, hours] of Object.entries(clocks)) {
      world.crm.clock.set(Date.now() + hours * 3_600_000)
      await renewAccess(here)
      await playWhys(stage, here, clock)
    }
    world.crm.clock.set(Date.now())
    for (let round = 0; round < rounds; round++) {
      await raceOfFifty(stage, here)
      await raceOfLost(stage, here, round)
    }
    await playTakingImport(stage, here)
  },
}

/** Fifty rows ask for one record, and the one that gets it asks fifty times more. */
const raceOfFifty = async (stage: Stage, here: Here) => {
  const run = await authorise(here)
  const record = make(here)
  const answers = await Promise.all(Array.from({length: 50}, (_, n) => taken(here, {run, record, row: `r${n}`})))
  const winners = answers.flatMap((answer, n) => (answer === true ? [`r${n}`] : []))
  stage.did('takes of one record at once', answers.length)
  stage.expect(winners.length === 1, `${winners.length} of fifty rows were given one record`)
  stage.expect(
    answers.filter(answer => answer === 'held').length === 49,
    `of fifty rows some were told else than that it is held: ${answers}`,
  )
  const again = await Promise.all(Array.from({length: 50}, () => taken(here, {run, record, row: winners[0]!})))
  stage.expect(
    again.every(answer => answer === true),
    `its own row was told ${again.find(answer => answer !== true)}`,
  )
}

/** Two rows of one unique value: both creates are lost, both are refused for the one record that came of them. */
const raceOfLost = async (stage: Stage, here: Here, round: number) => {
  const run = await authorise(here)
  const number = `race-${round}`
  const [one, other] = await Promise.all(['r1', 'r2'].map(row => loseCreate(here, {run, row, number})))
  stage.did('creates lost', 2)
  stage.expect(one === other && one !== null, `two refusals for ${number} name ${one} and ${other}`)
  const answers = await Promise.all(['r1', 'r2'].map(async row => (await take(here, {run, row, record: one!})).body))
  stage.expect(
    answers.filter(({taken}) => taken).length === 1 && answers.some(({why}) => why === 'held'),
    `two rows that ask for one record are told ${JSON.stringify(answers)}`,
  )
}
