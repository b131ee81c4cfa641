import type {Json} from '../http.ts'
import {waitForJob} from './job.ts'
import type {Output} from './output.ts'
import {count, duration} from './phrases.ts'
import type {Cli, Session} from './session.ts'

export const forecastRun = async (cli: Cli, session: Session, importId: string): Promise<{forecast: Json; lines: string[]}> => {
  const {client, path} = session
  const {result} = await waitForJob(cli, session, (await client.post(path(`imports/${encodeURIComponent(importId)}/forecast`))).job)
  return {forecast: result, lines: describeForecast(result, cli.out)}
}

export const describeForecast = (
  {credits, seconds, finishesAt, pausesAtRow, quota, basis}: Json,
  {time}: Pick<Output, 'time'>,
): string[] => [
  `Time: ${duration(seconds.p50)}, at most about ${duration(seconds.p95)}`,
  ...(quota ? [`CRM credits: ${rangeOf(credits)}${quota.remaining === null ? '' : ` of ${count(quota.remaining)} left`}`] : []),
  ...(pausesAtRow === null
    ? []
    : [`The CRM quota may run out at row ${count(pausesAtRow)}. The run then pauses and resumes automatically`]),
  ...(pausesAtRow !== null && finishesAt ? [`It ends about ${time(finishesAt)}`] : []),
  ...(basis === 'file' && credits.min < credits.max ? ['For a closer forecast, make a dry run first: --dry-run'] : []),
]

const rangeOf = ({min, max}: {min: number; max: number}) => (min === max ? count(min) : `${count(min)} to ${count(max)}`)
