import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Returns the browser that `CHROMIUM` names, or one of the system; null without one. */
export const findChromium = (): string | null => {
  const named = process.env.CHROMIUM
  if (named) return named
  return places.find(path => existsSync(path)) ?? null
}

/** Installs Debian's Chromium for the browser tests if there is none. Exits with 1 if that fails. */
const installChromium = (): void => {
  if (findChromium()) return
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  for (const command of [
    ['apt-get', 'update', '-q'],
    ['apt-get', 'install', '-q', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
  ]) {
    const [program, ...rest] = [...asRoot, ...command]
    const {status} = spawnSync(program!, rest, {stdio: 'inherit', env: {...process.env, DEBIAN_FRONTEND: 'noninteractive'}})
    if (status !== 0) break
  }
  if (findChromium()) return
  console.error('There is no Chromium, and it could not be installed: install it, or name one in CHROMIUM.')
  process.exit(1)
}

if (import.meta.main) installChromium()
