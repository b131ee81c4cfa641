import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {waitForJob} from '../cli/job.ts'
import {clean, count} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'
import type {Json} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const jobs = program
    .command('jobs')
    .summary('show a job or wait for it')
    .description('Long operations are jobs on the server: discoveries, checks and runs.')
  jobs
    .command('show')
    .summary('show a job')
    .argument('<id>', 'id of the job')
    .action(async (id: string) => {
      const {client, path} = await cli.open()
      const job = await client.get(path(`jobs/${encodeURIComponent(id)}`))
      cli.out.answer({job}, describe(cli, job))
    })
  jobs
    .command('wait')
    .summary('wait until a job has ended')
    .description('Exits with 0 if the job is done, and with 7 if it was refused, failed or was cancelled.')
    .argument('<id>', 'id of the job')
    .addHelpText('after', '\nExample:\n  lading jobs wait 0f8fad5b-d9cb-469f-a165-70867728950e')
    .action(async (id: string) => {
      const session = await cli.open()
      const job = await waitForJob(cli, session, {id})
      cli.out.answer({job}, describe(cli, job))
    })
  addExamples(jobs, EXAMPLES)
}

const EXAMPLES = {
  show: 'show 0f8fad5b-d9cb-469f-a165-70867728950e',
}

const describe = ({out}: Cli, {id, name, state, progress, error, createdAt, endedAt}: Json): string[] => [
  `${name} ${id}: ${state}`,
  ...(progress ? [`  ${count(progress.done)}${progress.total === null ? '' : ` of ${count(progress.total)}`} ${progress.unit}`] : []),
  ...(error ? [`  ${clean(error.error)} (${error.code})`] : []),
  `  started ${out.time(createdAt)}${endedAt ? `, ended ${out.time(endedAt)}` : ''}`,
]
