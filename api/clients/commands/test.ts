import {writeFile} from 'node:fs/promises'
import type {Command} from 'commander'
import {EXIT} from '../cli/exit-codes.ts'
import {badFile} from '../cli/failure.ts'
import {lineOf} from '../cli/import-tests/difference.ts'
import {junitOf} from '../cli/import-tests/junit.ts'
import {type CaseResult, runSuite} from '../cli/import-tests/run-suite.ts'
import {startTestStack, type TestStack} from '../cli/import-tests/stack.ts'
import {readSuites} from '../cli/import-tests/suite.ts'
import {plural} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'

export default (cli: Cli, program: Command) => {
  program
    .command('test')
    .summary('test the configuration with a stand-in of the CRM')
    .description(
      'Runs import tests on this machine: the whole service, and a stand-in of the CRM that is built from discovery.json. Each case imports files by a template and compares counts, rows and records. Needs no server and no CRM. Exits with 2 if a case fails.',
    )
    .argument('[directory]', 'pulled configuration with tests, or a folder of such folders', '.')
    .option('--junit <file>', 'also write the results as JUnit XML')
    .addHelpText('after', TEST_HELP)
    .action((directory: string, options: {junit?: string}) => runTests(cli, directory, options.junit))
}

const runTests = async (cli: Cli, directory: string, junit: string | undefined) => {
  const {out} = cli
  const suites = await readSuites(directory)
  const signal = cli.interrupt()
  const results: CaseResult[] = []
  let stack: TestStack | undefined
  try {
    stack = await startTestStack(cli.settings.stateDirectory, signal)
    for (const suite of suites)
      for await (const result of runSuite(stack, suite)) {
        if (signal.aborted) break
        results.push(result)
        if (!result.passed)
          out.note(
            [`${out.style('red', 'Failed:', out.err)} ${result.name}`, ...result.differences.map(one => `  ${lineOf(one)}`)].join('\n'),
          )
      }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await stack?.stop()
  }
  if (signal.aborted) throw signal.reason
  if (junit !== undefined)
    await writeFile(junit, junitOf(results)).catch(error => {
      throw badFile(`Could not write ${junit}: ${error.message}`)
    })
  const failed = results.filter(({passed}) => !passed).length
  out.answer({passed: results.length - failed, failed, cases: results}, () => [
    ...out.table(
      [{head: 'RESULT'}, {head: 'CASE'}, {head: 'FOLDER'}, {head: 'SECONDS', right: true}],
      results.map(({passed, name, suite, ms}) => [passed ? 'passed' : 'FAILED', name, suite, (ms / 1000).toFixed(1)]),
    ),
    ...(out.isTerminal
      ? ['', failed === 0 ? `${plural(results.length, 'case')} passed` : `${failed} of ${plural(results.length, 'case')} failed`]
      : []),
  ])
  if (failed > 0) cli.exit(EXIT.rows)
}

const TEST_HELP = `
The directory holds a pulled configuration, discovery.json, and cases in tests/*.yaml:

  name: New companies are created, known ones are updated
  template: Companies
  files: companies.csv            # or {slot: file, …}
  crm:
    records:                      # what the CRM holds before
      Accounts:
        - {Account_Name: Example Ltd, Account_Number: A-1}
  answers:                        # optional; the run is then retried
    - {flow: companies, kind: match, choice: first}
  expect:
    counts: {created: 2, updated: 1}
    rows: {3: {outcome: refused, field: Phone}}
    records:                      # everything that the module holds after
      Accounts:
        - {Account_Number: A-1, Billing_City: Bilbao}

Examples:
  lading config pull crm && lading test crm
  lading test crm --junit results.xml`
