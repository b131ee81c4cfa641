import {spawn} from 'node:child_process'
import fs from 'node:fs'
import {relative} from 'node:path'
import {fileURLToPath} from 'node:url'
import {stripVTControlCharacters} from 'node:util'

const FAILED_FILES = fileURLToPath(new URL('../../node_modules/.cache/ava/failing-tests.json', import.meta.url))
const MOST_FILES = 6

/**
 * Runs every test. Files with a failed test run a second time, one after the other, because a busy machine can fail a test that has a time
 * limit. A file that fails twice fails the run, and so does anything else than a failed test: a crash, a timeout, an uncaught error. With
 * arguments, nothing runs twice.
 */
const runTests = async (given: string[]): Promise<number> => {
  fs.rmSync(FAILED_FILES, {force: true})
  const first = await runAva(given)
  if (first.code === 0 || given.length > 0 || !hasOnlyFailedTests(first.output)) return first.code
  const files = readFailedFiles()
  if (files.length === 0 || files.length > MOST_FILES) return first.code
  console.log(`\n  Failed beside other tests, run again alone: ${files.join(', ')}\n`)
  const second = await runAva(['--serial', '--concurrency', '1', ...files])
  if (second.code === 0) console.log(`\n  Passed alone after a failure beside other tests: ${files.join(', ')}`)
  return second.code
}

/** Whether each error that AVA reported is a failed test. Its last paragraph then only has the number of failed tests. */
export const hasOnlyFailedTests = (output: string): boolean => {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map(line => line.trim())
  const summary = lines.slice(lines.findLastIndex(line => /^─+$/.test(line)) + 1).filter(line => line !== '')
  return lines.every(line => !line.startsWith('✘') || line.startsWith('✘ [fail]:')) && /^\d+ tests? failed$/.test(summary.join('\n'))
}

const readFailedFiles = (): string[] => {
  if (!fs.existsSync(FAILED_FILES)) return []
  const files = JSON.parse(fs.readFileSync(FAILED_FILES, 'utf8')) as string[]
  return files.map(file => relative(process.cwd(), file))
}

/** Runs AVA with its output copied to ours. AVA stores the names of failed files only where it sees no CI. */
const runAva = (args: string[]) =>
  new Promise<{code: number; output: string}>((resolve, reject) => {
    const env = {...process.env, AVA_FORCE_CI: 'not-ci', ...(process.stdout.isTTY && {FORCE_COLOR: '1'})}
    const child = spawn('ava', args, {stdio: ['inherit', 'pipe', 'inherit'], env})
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      process.stdout.write(text)
    })
    process.on('SIGTERM', () => child.kill('SIGTERM'))
    child.once('error', reject)
    child.once('close', code => resolve({code: code ?? 1, output}))
  })

if (import.meta.main) process.exitCode = await runTests(process.argv.slice(2))
