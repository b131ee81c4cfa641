const {write} = require('node:fs')
const {workerData} = require('node:worker_threads')

// The plainest kind of module, without imports of ours: one with types takes 11 MB more of memory, an ES module 1 MB.

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
  // A log that nobody reads any more must not keep the process.
  setTimeout(kill, 1_000)
  write(1, `${JSON.stringify(describe())}\n`, kill)
}

const describe = () => ({
  ...{level: 60, time: new Date().toISOString(), pid: process.pid, name, seconds},
  msg: `hung: one piece of work has kept this process for ${seconds} s, so it ends itself and others take over what it carried. Start it again; where that happens again, look at the runs or jobs it took last before this line`,
})

setInterval(look, 1_000)
