import {spawn} from 'node:child_process'
import fs from 'node:fs'
import {stripVTControlCharacters} from 'node:util'
import {listTestFiles} from './long-tests.ts'

const MOST_FILES = 12

/**
 * Runs the short tests, or with `--long` the others. If at most `MOST_FILES` files fail, they run a second time, one after the other. A test
 * with a time limit can fail on a busy machine, and Node 24 rarely aborts after it freed WebAssembly code (nodejs/node#64500). A second failure
 * fails the run, and so does any other error, such as a timeout. Other arguments select files, which run only once.
 */
const runTests = async (given: string[]): Promise<number> => {
  const {short, long} = listTestFiles()
  const whole = given.length === 0 ? short : given.join() === '--long' ? long : null
  const first = await runAva(whole ?? given)
  const files = first.code === 0 || !whole ? null : listFailedFiles(first.output, file => fs.existsSync(file))
  if (!files || files.length > MOST_FILES) return first.code
  console.log(`\n  Failed beside other tests, run again alone:\n${files.map(file => `  - ${file}\n`).join('')}`)
  const second = await runAva(['--serial', '--concurrency', '1', ...files])
  if (second.code === 0) console.log(`\n  ${files.length} test files failed beside other tests and passed alone.`)
  return second.code
}

/** Lists the files of failed tests and hooks, and of aborted processes, from AVA's output. Returns null if AVA reported any other error. */
export const listFailedFiles = (output: string, isFile: (path: string) => boolean): string[] | null => {
  const lines = stripVTControlCharacters(output)
    .split('\n')
    .map(line => line.trim())
  const summary = lines.slice(lines.findLastIndex(line => /^─+$/.test(line)) + 1).filter(line => line !== '')
  if (summary.length === 0 || !summary.every(line => /^\d+ ((test|hook)s? failed|tests? passed)$/.test(line))) return null
  const files = lines.filter(line => line.startsWith('✘')).map(line => fileOf(line, isFile))
  return files.length === 0 || files.includes(null) ? null : [...new Set(files as string[])]
}

/**
 * Finds the file of a line such as `✘ [fail]: workers › import-plans › the title` or `✘ test/a.test.ts exited due to SIGABRT`; null if none
 * fits. A title may contain the separator too.
 */
const fileOf = (line: string, isFile: (path: string) => boolean): string | null => {
  const aborted = /^✘ (\S+) exited due to (SIGABRT|SIGILL|SIGSEGV|SIGTRAP)$/.exec(line)?.[1]
  if (aborted) return isFile(aborted) ? aborted : null
  const parts = /^✘ \[fail\]: (.+)$/.exec(line)?.[1]?.split(' › ') ?? []
  const paths = parts.map((_, last) => `test/${parts.slice(0, last + 1).join('/')}.test.ts`)
  return paths.find(isFile) ?? null
}

/** Runs AVA. Prints its output and returns it. */
const runAva = (args: string[]) =>
  new Promise<{code: number; output: string}>((resolve, reject) => {
    const env = {...process.env, ...(process.stdout.isTTY && {FORCE_COLOR: '1'})}
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
