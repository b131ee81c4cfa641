#!/usr/bin/env node
// This file is plain JavaScript, so that an older Node can still report that it is too old.
import {readFileSync} from 'node:fs'
import module from 'node:module'
import {homedir} from 'node:os'
import {join} from 'node:path'
import process from 'node:process'
import {fileURLToPath} from 'node:url'

const leastNode = 24
const [major] = process.versions.node.split('.')

/** Strips the types of our own files when they are loaded, because Node does not strip types in `node_modules`. */
const stripOurOwn = async () => {
  const home = new URL('.', import.meta.url).href
  const {default: amaro} = await import('amaro')
  module.registerHooks({
    load(url, context, next) {
      if (!url.startsWith(home) || !url.endsWith('.ts')) return next(url, context)
      const {code} = amaro.transformSync(readFileSync(fileURLToPath(url), 'utf8'), {mode: 'strip-only'})
      return {format: 'module', shortCircuit: true, source: code}
    },
  })
}

if (Number(major) < leastNode) {
  process.stderr.write(
    `lading requires Node ${leastNode} or later, but this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Install a newer version from https://nodejs.org, put it first on the PATH, then run the command again.\n',
  )
  process.exitCode = 1
} else {
  // The compile cache halves the start-up time. It is in the home directory, because other users could put code into a shared one.
  module.enableCompileCache(join(homedir(), '.cache', 'lading'))
  if (import.meta.url.includes('/node_modules/')) await stripOurOwn()
  const {main} = await import('./cli.ts')
  process.exitCode = await main(process.argv.slice(2))
}
