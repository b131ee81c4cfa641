import {spawnSync} from 'node:child_process'
import {readOptions} from '../stack/usage.ts'
import {addAll} from './judge.ts'
import {MATRIX} from './matrix.ts'
import {type Played, playScenario} from './scenario.ts'
import {printMatrix} from './table.ts'

/**
 * The options of `npm run faults [-- --only R1,R5 --seed 1 --seeds 20 --rows 3000 --points after_send:2 --json]`. The command causes faults and
 * checks what must hold during and after them. It exits with 1 if a scenario does not hold. R1 takes `seeds`, `rows` and `points`. R21 takes
 * `seeds` (at most six) and `rows`. R19 and R20 take `seeds` and `cells`: `--cells "COQL lag 30 s;updates only"`
 */
const values = readOptions(
  'npm run faults -- [--only R1,R5] [--seed 1] [--seeds 20] [--rows 3000] [--points POINT:N,POINT:N] [--cells "FAULT;FILE"] [--json]',
  {
    only: {type: 'string'},
    seed: {type: 'string', default: '1'},
    seeds: {type: 'string', default: '20'},
    rows: {type: 'string', default: '3000'},
    points: {type: 'string'},
    cells: {type: 'string'},
    json: {type: 'boolean', default: false},
  },
)

/**
 * Returns the time limit of a scenario in seconds. Most scenarios take one or two minutes, or six on a busy machine. The limits of R1, R19, R20
 * and R21 grow with the number of seeds.
 */
const longestSeconds = ({row}: {row: string}) =>
  row === 'R21'
    ? 120 + asked.seeds * (60 + asked.rows / 5)
    : row === 'R1'
      ? 120 + 60 * asked.seeds
      : ['R19', 'R20'].includes(row)
        ? 300 + 180 * asked.seeds
        : 400

const asked = {
  seed: Number(values.seed),
  seeds: Number(values.seeds),
  rows: Number(values.rows),
  points: values.points?.split(','),
  cells: values.cells?.split(';'),
}
const rows = MATRIX.map(({row}) => row)
const wanted = values.only?.split(',') ?? rows
const unknown = wanted.filter(row => !rows.includes(row))
if (unknown.length) throw new Error(`There is no ${unknown.join(', ')}: the matrix has ${rows.join(', ')}`)

const isInstalled = (program: string) => !spawnSync(program, ['--version']).error

const played: Played[] = []
const notPlayed: string[] = []
for (const scenario of MATRIX) {
  if (!wanted.includes(scenario.row)) continue
  if (scenario.program && !values.only && !isInstalled(scenario.program)) {
    notPlayed.push(scenario.row)
    process.stderr.write(`${scenario.row} was not played: install ${scenario.program}\n`)
    continue
  }
  const one = await playScenario(scenario, asked, longestSeconds(scenario))
  played.push(one)
  process.stderr.write(`${one.row} ${one.holds ? 'holds' : 'DOES NOT HOLD'}, ${one.seconds.toFixed(1)} s\n`)
  for (const line of one.says) process.stderr.write(`  ${line}\n`)
}

const failed = played.filter(({holds}) => !holds).map(({row}) => row)
const sums = {...addAll(played.map(({errors}) => errors)), runs: played.reduce((sum, {runs}) => sum + runs, 0)}
if (values.json) console.log(JSON.stringify({seed: asked.seed, ...sums, failed, notPlayed, rows: played}))
else console.log(printMatrix(played))
// A broken scenario may leave processes running, so this process exits explicitly after it has printed the verdict.
process.exit(failed.length ? 1 : 0)
