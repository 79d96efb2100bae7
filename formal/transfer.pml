/*
 * How KV pages pass from prefill to decode over both transports: leases, holders, tags, the contract (rules R4 to R6),
 * without bytes, layers and time. formal/run.sh proves, formal/README.md maps each action to our messages and effects.
 *
 *   safe   no read of a page that its reader does not own or that its own writer has not filled (assertion in Request)
 *   home   under weak fairness every page comes home, again and again: []<> free, for each page
 *
 * 2 requests (of 1 or 2 pages, each living again and again), 3 pages, 2 writers; any number of aborts and crashes.
 * Each macro takes one rule away: NO_FENCE, NO_STEP_FENCE, NO_LEASE, NO_EPOCH (R6), NO_CONTRACT (R4), NO_TAGS (R5),
 * NO_PROOF (a writer's end is never reported). SOCKET or SHARED fixes the transport; without them both are tried.
 */
mtype:transport = { socket, shared }
mtype:phase = { idle, reserved, sent, armed, check, read, done }

mtype:transport transport

/* Decode's ledger. A page is free (tag 0), owned (its lease is open) or draining (closed, but somebody may touch it) */
byte tag[3]    /* the owner's lease. Ids are new at each claim (see STALE), so it is owner and generation in one. */
bool filled[3] /* the flag that stands in memory beside the page */
bool writer[3] /* holder [writer]: a writer may still store into it */
bool mine[3]   /* ghost: its bytes were written, whole, under its present owner's lease. No rule looks at it. */

/* Decode's requests; slot r has lease r + 1. `table` is what a plan names: taken at reserve, never looked up again. */
mtype:phase phase[2] = idle
bool open[2]
byte table[2]
byte cursor[2]

/*
 * Writers: one prefill job each, from its dispatch to the arrival of its last message. A message under way is one that
 * its writer has not sent yet: nothing tells them apart, since a link keeps order and a writer waits for nothing else.
 */
byte job[2]  /* the lease it writes under, by its whole name: id and epoch; 0: none */
bool old[2]  /* ghost: it writes for an earlier life of decode; no rule looks at it */
byte left[2] /* pages yet to be sent */
byte busy[2] /* 1 + the page that is being written: stored by prefill (shared), placed by decode (socket); 0: none */
bool dead[2] /* it has crashed, and decode does not know it yet */

hidden byte n, q /* scratch within one atomic step: no part of the state */

/* A lease that is over. Its name is never given again, so it equals no later one, and all such are the same. */
#define STALE 3
#define none 9 /* no writer, no page */
#define has(set, p) ((set >> (p)) & 1)
#define size(set) (has(set, 0) + has(set, 1) + has(set, 2))
#define first(set) (has(set, 0) -> 0 : (has(set, 1) -> 1 : 2))
#define isOpen(x) ((x == 1 && open[0]) || (x == 2 && open[1]))
#define inPass(r, p) ((phase[r] == check || phase[r] == read) && has(table[r], p))

#ifndef TORN
#define TORN true /* half a write makes a page foreign; false for trails, since a whole one is easier to replay */
#endif
#ifdef NO_EPOCH
#define afterCrash(w) job[w] /* ids alone start again from 1, and an old name is that of somebody else */
#else
#define afterCrash(w) (job[w] == 0 -> 0 : STALE)
#endif
#ifdef NO_LEASE
#define accepts(w) true /* a frame goes where its address says, whomever it names */
#else
#define accepts(w) isOpen(job[w])
#endif
#ifdef NO_FENCE
#define writerGone(p) true
#else
#define writerGone(p) (!writer[p])
#endif
#ifdef NO_STEP_FENCE
#define stepGone(p) true
#else
#define stepGone(p) (!inPass(0, p) && !inPass(1, p))
#endif
#ifdef NO_CONTRACT
#define delivered(r, w) true
#else
#define here(r, p) (!has(table[r], p) || filled[p])
#define delivered(r, w) (left[w] == 0 && here(r, 0) && here(r, 1) && here(r, 2)) /* as many as contracted, and each */
#endif
#ifdef NO_TAGS
#define readable(r, p) true
#else
#define readable(r, p) (tag[p] == r + 1 && filled[p])
#endif

/* printf is for run.sh, on replay: actor, action, whose (slot or job, and which), page. It is no part of the proof. */

/* R6: a page goes home once its lease is closed and its last holder has let go; no clock, no other way. */
inline settle(p) {
  if
  :: tag[p] != 0 && !isOpen(tag[p]) && writerGone(p) && stepGone(p) ->
    printf("@ decode home slot %d %d\n", tag[p] - 1, p);
    tag[p] = 0; filled[p] = false; mine[p] = false
  :: else
  fi
}
inline settleAll() { settle(0); settle(1); settle(2) }

/* Closing is at once, going home is not: the pages drain until their holders are gone. */
inline close(r) {
  open[r] = false;
  if
  :: phase[r] != check && phase[r] != read -> phase[r] = done; table[r] = 0
  :: else /* a pass is not cancelled */
  fi;
  settleAll()
}

/* The writer's acknowledgement, or the proof of its end: it touches no page of this lease any more. */
inline letGo(w) {
  for (q : 0 .. 2) { writer[q] = writer[q] && tag[q] != job[w] };
  settleAll()
}
inline forgetJob(w) { job[w] = 0; old[w] = false; left[w] = 0 }

/* forward_done: the pass lets go of its pages, and the request has ended, well or not. */
inline endPass(r) { phase[r] = done; cursor[r] = 0; close(r) }

/* Decode's state machine and forward pass, for the requests of one slot. */
proctype Request(byte r) {
  do
  :: atomic { /* reserve the whole contract, open a lease; the first free pages, since one is as good as another */
      phase[r] == idle && (tag[0] == 0 || tag[1] == 0 || tag[2] == 0) ->
      do
      :: size(table[r]) < 2 ->
        if
        :: tag[0] == 0 -> n = 0
        :: tag[0] != 0 && tag[1] == 0 -> n = 1
        :: tag[0] != 0 && tag[1] != 0 && tag[2] == 0 -> n = 2
        :: table[r] != 0 -> break
        fi;
        tag[n] = r + 1; filled[n] = false; mine[n] = false; writer[n] = false; table[r] = table[r] | (1 << n);
        printf("@ decode reserve slot %d %d\n", r, n)
      :: else -> break
      od;
      open[r] = true; phase[r] = reserved;
      if /* the router has chosen a writer, or there is none and the request ends; nobody else has heard of the lease */
      :: job[0] == 0 -> n = 0
      :: job[0] != 0 && job[1] == 0 -> n = 1
      :: n = none
      fi;
      if
      :: n != none ->
        printf("@ prefill-%d start slot %d 9\n", n, r);
        phase[r] = sent; job[n] = r + 1; left[n] = table[r];
        /* shared: who knows the lease may store, so the hold begins before the lease is handed out */
        for (q : 0 .. 2) { writer[q] = writer[q] || (transport == shared && has(table[r], q)) }
      :: else
      fi
    }
  :: atomic { phase[r] == reserved && open[r] -> close(r) }
  :: atomic { /* forward: its plan names the pages, and from here to endPass they are held [step] */
      phase[r] == armed && open[r] ->
      printf("@ decode forward slot %d 9\n", r);
      phase[r] = check; cursor[r] = first(table[r])
    }
  :: atomic { /* R5, inside the kernel; a fault ends this request alone */
      phase[r] == check ->
      if
      :: readable(r, cursor[r]) -> phase[r] = read
      :: else -> printf("@ decode fault slot %d %d\n", r, cursor[r]); endPass(r)
      fi
    }
  :: atomic { /* rows are read after the check and not with it: what happens between the two counts */
      phase[r] == read ->
      n = cursor[r];
      printf("@ decode read slot %d %d\n", r, n);
      assert(tag[n] == r + 1 && filled[n] && mine[n]);
      if
      :: table[r] >> (n + 1) -> cursor[r] = (has(table[r], n + 1) -> n + 1 : n + 2); phase[r] = check
      :: else -> endPass(r)
      fi
    }
  :: atomic { /* released: said once, when the last page is home */
      phase[r] == done &&
      tag[0] != r + 1 && tag[1] != r + 1 && tag[2] != r + 1 ->
      phase[r] = idle;
      for (q : 0 .. 1) { job[q] = (job[q] == r + 1 && !old[q] -> STALE : job[q]) }
    }
  od
}

/* Prefill and its link. It may be slow, hear of an abort late or never, and send less than was contracted. */
proctype Writer(byte w) {
  do
  :: atomic { /* a page begins. Socket: a frame has come in. Shared: a one-sided store, which no one can check */
      left[w] != 0 && busy[w] == 0 && !dead[w] ->
      n = first(left[w]);
      if
      :: transport == socket && !accepts(w) ->
        printf("@ decode discard job %d %d\n", w, n);
        left[w] = left[w] - (1 << n)
      :: transport == socket && accepts(w) ->
        printf("@ decode place job %d %d\n", w, n);
        busy[w] = n + 1; writer[n] = true; mine[n] = mine[n] && !TORN
      :: transport == shared ->
        printf("@ prefill-%d store job %d %d\n", w, w, n);
        busy[w] = n + 1;
        mine[n] = mine[n] && (old[w] || !TORN) /* a new life of decode has a new memory; nobody reads the old one */
      fi
    }
  :: atomic { /* it ends, whatever became of the lease, and decode hears of it: `placed`, or the acknowledgement */
      busy[w] != 0 && (!dead[w] || transport == socket) ->
      n = busy[w] - 1; busy[w] = 0; left[w] = left[w] - (1 << n);
      if
      :: transport == socket -> printf("@ decode placed job %d %d\n", w, n); mine[n] = tag[n] == job[w] && !old[w]
      :: transport == shared -> printf("@ prefill-%d stored job %d %d\n", w, w, n);
        mine[n] = (old[w] -> mine[n] : tag[n] == job[w])
      fi;
      if
      :: transport == socket || tag[n] == job[w] -> /* shared: the hold ends with its last word alone, see letGo */
        filled[n] = true; writer[n] = writer[n] && transport == shared; settle(n)
      :: else
      fi
    }
  :: atomic { /* manifest. With pages left, it is that of a refused request that lives on as a placeholder */
      isOpen(job[w]) && busy[w] == 0 && !dead[w] && left[w] != table[job[w] - 1] ->
      printf("@ prefill-%d manifest job %d 9\n", w, w);
      letGo(w);
      if /* R4: the contract, before the first step */
      :: delivered(job[w] - 1, w) -> printf("@ decode armed job %d 9\n", w); phase[job[w] - 1] = armed
      :: else -> printf("@ decode mismatch job %d 9\n", w); close(job[w] - 1)
      fi;
      forgetJob(w)
    }
  :: atomic { /* it hears that its lease is closed, stops, and says so */
      job[w] != 0 && !isOpen(job[w]) && busy[w] == 0 && !dead[w] ->
      printf("@ prefill-%d acknowledge job %d 9\n", w, w);
      letGo(w); forgetJob(w)
    }
#ifndef NO_PROOF
  :: atomic { /* link_down with worker_down, or the thread's exit: now decode knows that nothing more can come */
      dead[w] && busy[w] == 0 ->
      printf("@ prefill-%d ended job %d 9\n", w, w);
      if
      :: isOpen(job[w]) -> close(job[w] - 1)
      :: else
      fi;
      letGo(w); forgetJob(w); dead[w] = false
    }
#endif
  od
}

/* Aborts and crashes stand apart, with a step that does nothing: fairness forces none, so no proof leans on one. */
active proctype Faults() {
  if
#ifndef SHARED
  :: transport = socket
#endif
#ifndef SOCKET
  :: transport = shared
#endif
  fi;
  atomic { run Request(0); run Request(1); run Writer(0); run Writer(1) };
  do
  :: transport != 0 /* always so; spin refuses a plain `true` */
  :: atomic { /* abort, from whichever side */
      if
      :: open[0] -> n = 0
      :: open[1] -> n = 1
      fi;
      printf("@ client abort slot %d 9\n", n);
      close(n)
    }
  :: atomic { /* prefill dies; in the middle of a one-sided store the page stays torn */
      if
      :: job[0] != 0 && !dead[0] -> n = 0
      :: job[1] != 0 && !dead[1] -> n = 1
      fi;
      printf("@ prefill-%d crash job %d 9\n", n, n);
      dead[n] = true; busy[n] = (transport == shared -> 0 : busy[n])
    }
  :: atomic { /* decode dies: new memory, new epoch, ids from 1 again; prefill's jobs go on, unaware */
      printf("@ decode crash none 9 9\n");
      for (q : 0 .. 2) { tag[q] = 0; filled[q] = false; writer[q] = false; mine[q] = false };
      for (q : 0 .. 1) {
        phase[q] = idle; open[q] = false; table[q] = 0; cursor[q] = 0; old[q] = job[q] != 0; job[q] = afterCrash(q);
        if
        :: transport == socket && busy[q] != 0 -> left[q] = left[q] - (1 << (busy[q] - 1)); busy[q] = 0
        :: else
        fi
      }
    }
  od
}

#ifdef LIVE
ltl home { []<>(tag[0] == 0) && []<>(tag[1] == 0) && []<>(tag[2] == 0) }
#endif
