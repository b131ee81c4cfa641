import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The browser named in `CHROMIUM`, or that of the system; null if there is none. */
export const findChromium = (): string | null => {
  const named = process.env.CHROMIUM
  if (named) return named
  return places.find(path => existsSync(path)) ?? null
}

/** Set-up step of the browser tests: installs Debian's Chromium if it is missing and installing is permitted. */
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
