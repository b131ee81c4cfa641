const {write} = require('node:fs')
const {workerData} = require('node:worker_threads')

// A CommonJS module without imports of this project, to save memory. TypeScript would take 11 MB more, an ES module 1 MB more.

const {beats, seconds, name} = workerData
let seen = 0
let still = 0

const look = () => {
  const beat = Atomics.load(beats, 0)
  still = beat === seen ? still + 1 : 0
  seen = beat
  if (still === seconds) end()
}

const end = () => {
  const kill = () => process.kill(process.pid, 'SIGKILL')
  // A log whose reader is gone must not keep the process alive.
  setTimeout(kill, 1_000)
  write(1, `${JSON.stringify(describe())}\n`, kill)
}

const describe = () => ({
  ...{level: 60, time: new Date().toISOString(), pid: process.pid, name, seconds},
  msg: `hung: one operation blocked this process for ${seconds} s, so it ends itself and other processes take over its work. Start it again. If this repeats, look at the runs or jobs that it took last before this line`,
})

setInterval(look, 1_000)
