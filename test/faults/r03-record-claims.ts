import {openOrg} from '../support/importing.ts'
import {authorise, type Here, make, take, taken} from '../support/record-claims.ts'
import {environment} from './carried.ts'
import {playClaimingImport} from './claiming-import.ts'
import {loseCreate, playReasons, renewAccess} from './reasons.ts'
import type {Scenario, Stage} from './scenario.ts'

const clocks = {'as ours': 0, 'two hours ahead': 2, 'two hours behind': -2}
const rounds = 10

/**
 * Loses creates, which the CRM refuses as duplicates when they are sent again. Checks whether the row may claim the record that the refusal
 * names. Claims are tested through the record routes, for each possible answer and from racing rows. They are also tested through an import.
 */
export const takes: Scenario = {
  row: 'R3',
  fault: "a create is lost, and refused as a duplicate when it is sent again: the record may be the row's, another's, or deleted",
  goal: 'each record claim answers its why, and exactly one of many claims of a record succeeds',
  async play(stage) {
    const world = await stage.open({workers: ['discovery', 'writes', 'imports'], environment: {...environment, CRM_TIMEOUT_SECONDS: '2'}})
    const here: Here = {world, org: await openOrg(world)}
    for (const [clock, hours] of Object.entries(clocks)) {
      world.crm.clock.set(Date.now() + hours * 3_600_000)
      await renewAccess(here)
      await playReasons(stage, here, clock)
    }
    world.crm.clock.set(Date.now())
    for (let round = 0; round < rounds; round++) {
      await raceOfFifty(stage, here)
      await raceOfLost(stage, here, round)
    }
    await playClaimingImport(stage, here)
  },
}

/** Lets fifty rows claim one record at once. The row that gets the record then claims it fifty more times. */
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

/** Sends two rows with the same unique value. Both creates are lost, and both refusals name the one record that exists. */
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
