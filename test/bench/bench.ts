import {measureAuth} from './auth.ts'
import {measureExpressions} from './expressions.ts'
import {measureRecords} from './records.ts'

/** `npm run bench [-- --json]`: ratios, each against its own baseline in the same run. Absolute figures are this machine's alone. */
const figures = {...(await measureAuth()), ...(await measureExpressions()), ...(await measureRecords())}

const SAYS: Record<keyof typeof figures, string> = {
  authOverBareKoa: 'authenticated, validated route ÷ the same route on bare Koa (req/s)',
  authOverSameAppWithout: 'the same ÷ the same route in our app without a bearer (req/s)',
  authRequestsPerSecond: 'its requests per second here, one process, 32 connections',
  expressionsOverBareSandbox: '10 expressions a row through the sandbox ÷ the bare engine on this thread (rows/s)',
  expressionRowsPerSecond: 'its rows per second here, batches of 500, one thread',
  logDepthRatio: 'log page of 1,000 at the end of 250,000 entries ÷ the first page (time), in Postgres',
  resultsVsParser: 'results.csv of 250,000 rows ÷ the bare CSV parser over the same file (MB/s), log in Postgres',
  movedLogDepthRatio: 'the same log pages once the records are in storage',
  movedResultsVsParser: 'the same results.csv once the records are in storage',
}

if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else
  for (const [name, value] of Object.entries(figures))
    console.log(`${value.toFixed(2).padStart(10)}  ${SAYS[name as keyof typeof figures]}`)
