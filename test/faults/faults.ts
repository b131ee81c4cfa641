import {parseArgs} from 'node:util'
import {openDeployment} from '../deployment.ts'
import {addAll, environment, openGround, runSeed, type Told} from './seed.ts'

/**
 * `npm run faults [-- --seeds 100 --from 1 --rows 3000 --points after_send:2 --json]`: what must hold of an import whatever dies, sleeps, is cut off or does
 * not answer, counted over so many seeds. Ends with 1 when anything is not zero, and names the seeds to repeat.
 */
const {values} = parseArgs({
  options: {
    seeds: {type: 'string', default: '100'},
    from: {type: 'string', default: '1'},
    rows: {type: 'string', default: '3000'},
    points: {type: 'string'},
    json: {type: 'boolean', default: false},
  },
})

const say = (line: string) => process.stderr.write(`${line}\n`)

const runAll = async ({seeds, from, ...asked}: {seeds: number; from: number; rows: number; points: string[] | undefined}) => {
  const ends: (() => Promise<unknown>)[] = []
  const told: Told[] = []
  const failed: number[] = []
  try {
    const ground = await openGround(await openDeployment('faults', {workers: ['discovery'], environment}, end => ends.push(end)))
    for (let seed = from; seed < from + seeds; seed++) {
      try {
        const one = await runSeed(ground, seed, asked)
        told.push(one)
        if (one.says.length) failed.push(seed)
        sayOf(one)
      } catch (error) {
        failed.push(seed)
        say(`seed ${seed}: ${error instanceof Error ? error.stack : error}`)
      }
    }
  } finally {
    for (const end of ends.toReversed()) await end()
  }
  return {told, failed}
}

const sayOf = ({seed, name, seconds, done, says}: Told) => {
  say(`seed ${seed}, ${name}: ${seconds.toFixed(1)} s, ${done.kills} kills, ${done.sleeps} sleeps, ${done.cuts} cuts`)
  for (const line of says) say(`  ${line}`)
}

const sum = (told: Told[], of: (one: Told) => number) => told.reduce((all, one) => all + of(one), 0)

const asked = {seeds: Number(values.seeds), from: Number(values.from), rows: Number(values.rows), points: values.points?.split(',')}
const {told, failed} = await runAll(asked)
const counts = {
  ...{seeds: told.length, rows: sum(told, one => one.rows), ...addAll(told.map(({errors}) => errors)), failed},
  ...{kills: sum(told, ({done}) => done.kills), sleeps: sum(told, ({done}) => done.sleeps), cuts: sum(told, ({done}) => done.cuts)},
}
if (values.json) console.log(JSON.stringify(counts))
else for (const [name, count] of Object.entries(counts)) console.log(`${String(count).padStart(10)}  ${name}`)
if (failed.length) say(`Repeat one with: npm run faults -- --seeds 1 --from ${failed[0]}`)
process.exitCode = failed.length ? 1 : 0
