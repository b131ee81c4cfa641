import {CHAOS_FAULTS} from './chaos-faults.ts'
import {CHAOS_FILES} from './chaos-files.ts'
import {type Cell, chaosEnvironment, openChaosRuns, playCell} from './chaos-lane.ts'
import {standWorker} from './fleet.ts'
import {addAll, ERRORS, type Verdict} from './judge.ts'
import type {Scenario, Stage} from './scenario.ts'

export const cellsAtOnce = 24
export const timeoutSeconds = 1

/** Runs every fault of the CRM with every kind of file and every seed, several cells at once. */
export const chaos: Scenario = {
  row: 'R19',
  fault: 'COQL lags or is empty, requests arrive late or twice, answers are short or name wrong ids, the clock of the CRM jumps',
  goal: 'no row lost, double, of a wrong record or an old value that nothing tells of; but for a request that the network delivers twice',
  async play(stage) {
    const environment = chaosEnvironment(timeoutSeconds, 2 * cellsAtOnce)
    const here = await stage.open({workers: ['discovery'], environment, crm: {journal: {limit: 5_000}}})
    await standWorker(here, stage, environment)
    await playCells(stage, {cells: listCells(stage.asked), nextLane: openChaosRuns(here)})
  },
}

/**
 * Returns the cells to run: all cells with the first seed, then with the next. `cells`: names of faults, files or `fault × file`; default all.
 */
export const listCells = ({seed: first, seeds, cells: named}: {seed: number; seeds: number; cells?: string[] | undefined}): Cell[] => {
  const isNamed = (cell: Omit<Cell, 'seed'>) => !named || [cell.fault.name, cell.file.name, nameOf(cell)].some(name => named.includes(name))
  const cells = CHAOS_FAULTS.flatMap(fault => CHAOS_FILES.map(file => ({fault, file}))).filter(isNamed)
  if (cells.length === 0) throw new Error(`No cell of the chaos row is named ${named}`)
  return Array.from({length: seeds}, (_, n) => cells.map(cell => ({...cell, seed: first + n}))).flat()
}

export const nameOf = ({fault, file}: Omit<Cell, 'seed'>) => `${fault.name} × ${file.name}`

type PlayCells = {cells: Cell[]; nextLane: ReturnType<typeof openChaosRuns>}

/** Runs up to `cellsAtOnce` cells at once. Reports the cells with errors and what the service reported about rows. */
export const playCells = async (stage: Stage, {cells, nextLane}: PlayCells) => {
  const waiting = [...cells]
  const found = new Map<string, {seed: number; verdict: Verdict}[]>()
  const told = {rows: 0, unanswered: 0, failed: 0, twice: 0, needless: 0}
  const walk = async () => {
    const lane = await nextLane()
    for (let cell = waiting.shift(); cell; cell = waiting.shift()) {
      const {seed} = cell
      const verdicts = await playCell(lane, cell).catch((error: Error) =>
        stage.expect(false, `${nameOf(cell!)}, seed ${seed}: ${error.stack}`),
      )
      stage.did('seeds of cells')
      for (const verdict of verdicts ?? []) {
        stage.judged({...verdict, says: []})
        found.set(nameOf(cell), [...(found.get(nameOf(cell)) ?? []), {seed, verdict}])
        for (const kind of Object.keys(told) as (keyof typeof told)[]) told[kind] += verdict.told![kind]
      }
    }
  }
  await Promise.all(Array.from({length: Math.min(cellsAtOnce, cells.length)}, walk))
  for (const [name, count] of Object.entries(told)) stage.figure(name === 'rows' ? name : `${name}, told`, count)
  for (const [name, verdicts] of found) for (const line of describeWrong(name, verdicts)) stage.expect(false, line)
}

/** Returns one line for a cell with errors: their counts, the seeds, and the first error. Returns nothing for a cell without errors. */
const describeWrong = (name: string, verdicts: {seed: number; verdict: Verdict}[]): string[] => {
  const wrong = verdicts.filter(({verdict}) => verdict.says.length > 0)
  if (wrong.length === 0) return []
  const errors = addAll(wrong.map(({verdict}) => verdict.errors))
  const counts = ERRORS.flatMap(kind => (errors[kind] ? [`${errors[kind]} ${kind}`] : []))
  const seeds = [...new Set(wrong.map(({seed}) => seed))]
  return [`${name}: ${counts.join(', ')}; seeds ${seeds.join(' ')}; e.g. ${wrong[0]!.verdict.says[0]}`]
}
