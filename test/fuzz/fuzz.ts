import {readOptions} from '../stack/usage.ts'
import {type Fuzzed, fuzz} from './run.ts'
import {playUnchanged} from './unchanged.ts'

/**
 * `npm run fuzz [-- --requests 50000 --seed 1 --seconds 3000 --only "post /orgs" --json]` sends random requests, drawn from the route table, to
 * a separate deployment. Prints each failure with its seed and exits with 1 if there is any.
 * With `--imports 500`, imports that many random files instead.
 */
const main = async () => {
  const values = readOptions(
    'npm run fuzz -- [--requests 50000] [--seed 1] [--seconds 3000] [--only "post /orgs"] [--json] | --imports 500',
    {
      requests: {type: 'string', default: '50000'},
      seed: {type: 'string', default: '1'},
      seconds: {type: 'string', default: '3000'},
      imports: {type: 'string'},
      only: {type: 'string'},
      json: {type: 'boolean', default: false},
    },
  )
  const [requests, seed, seconds] = [values.requests, values.seed, values.seconds].map(Number)
  if (values.imports) return playUnchanged({cases: Number(values.imports), seed: seed!})
  const result = await fuzz({requests: requests!, seed: seed!, seconds: seconds!, ...(values.only && {only: values.only})})
  process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : pageOf(result))
  process.exitCode = result.failures.length ? 1 : 0
}

const pageOf = ({requests, seed, seconds, byStatus, reached, routes, unreached, slowest, failures}: Fuzzed): string =>
  `${[
    `${requests.toLocaleString('en')} requests of seed ${seed} in ${seconds} s`,
    `by status: ${Object.entries(byStatus)
      .map(([status, count]) => `${status} × ${count}`)
      .join(', ')}`,
    `routes that answered with a success: ${reached} of ${routes}`,
    ...unreached.map(route => `  not: ${route}`),
    'the slowest:',
    ...slowest.map(({ms, route, curl}) => `  ${ms} ms ${route}\n    ${curl}`),
    failures.length ? `${failures.length} failures:` : 'no failure',
    ...failures.map(({route, problem, seed, curl}) => `  ${route} (seed ${seed})\n    ${problem}\n    ${curl}`),
  ].join('\n')}\n`

await main()
