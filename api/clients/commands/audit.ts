import {stat} from 'node:fs/promises'
import {pipeline} from 'node:stream/promises'
import {type Command, InvalidArgumentError, Option} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {bodyOf, saveFile} from '../cli/save-file.ts'
import type {Cli} from '../cli/session.ts'
import {notOurs} from '../retry.ts'

type Export = {from?: string; to?: string; output?: string; out?: string}

export default (cli: Cli, program: Command) => {
  const audit = program
    .command('audit')
    .summary('download the audit log of the org')
    .description('Lists sign-ins, changes, runs and staff actions. Requires the admin role. Each download is logged too.')
  audit
    .command('export')
    .summary('write the audit log as one JSON object per line, oldest first')
    .option('--from <time>', 'start, inclusive: 2027-01-31 or 2027-01-31T08:00:00Z', readMoment)
    .option('--to <time>', 'end, exclusive (default: now)', readMoment)
    .option('-o, --output <file>', 'write to this file instead of the standard output')
    .addOption(new Option('--out <file>', 'same as --output').hideHelp())
    .action((options: Export) => exportAudit(cli, options))
  addExamples(audit, {export: 'export --from 2027-01-01 -o audit.ndjson'})
}

/** Parses a time. A date without a time means midnight UTC. */
const readMoment = (given: string): string => {
  const at = /^\d{4}-\d{2}-\d{2}(T.*(Z|[+-]\d{2}:?\d{2}))?$/.test(given) ? Date.parse(given) : Number.NaN
  if (Number.isNaN(at)) throw new InvalidArgumentError('Use the form 2027-01-31 or 2027-01-31T08:00:00Z.')
  return new Date(at).toISOString()
}

const exportAudit = async ({out, open}: Cli, {from, to, out: other, output = other}: Export) => {
  const {client, path} = await open()
  const response = await client.open('GET', path('audit'), {query: {from, to}, timeoutMs: 600_000})
  if (!response.headers.get('content-type')?.includes('ndjson')) throw notOurs()
  const body = bodyOf(response, client.base)
  if (output === undefined || output === '-') return pipeline(body, out.out, {end: false})
  await saveFile(output, body)
  out.answer({file: output, bytes: (await stat(output)).size}, `Wrote ${output}`)
}
