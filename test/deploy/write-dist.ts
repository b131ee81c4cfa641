import {execFileSync} from 'node:child_process'
import {existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import amaro from 'amaro'
import {readText, root} from './files.ts'

/**
 * `npm pack` runs this first (`prepack`). It writes each TypeScript file of the package, without types, to `dist/`, where
 * `api/clients/strip-types.js` reads it. A file is replaced in one step, and only if it changed, because tests pack the checkout in parallel.
 */
const dist = join(root, 'dist')

/** Returns the paths of the package's TypeScript files. */
const listSources = (): string[] => {
  const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  })
  const [{files}] = JSON.parse(answer) as [{files: Array<{path: string}>}]
  return files.map(({path}) => path).filter(path => path.endsWith('.ts') && !path.endsWith('.d.ts'))
}

const writeStripped = (path: string): string => {
  const {code} = amaro.transformSync(readText(path), {mode: 'strip-only'})
  const target = path.replace(/ts$/, 'js')
  const file = join(dist, target)
  if (existsSync(file) && readFileSync(file, 'utf8') === code) return target
  mkdirSync(dirname(file), {recursive: true})
  writeFileSync(`${file}.${process.pid}`, code)
  renameSync(`${file}.${process.pid}`, file)
  return target
}

const written = new Set(listSources().map(writeStripped))
const found = existsSync(dist) ? readdirSync(dist, {recursive: true, encoding: 'utf8'}) : []
for (const path of found) if (path.endsWith('.js') && !written.has(path)) rmSync(join(dist, path), {force: true})
