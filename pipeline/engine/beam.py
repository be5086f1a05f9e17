"""The widening stage beam: layers of the best states, stage by stage, passes ever wider until a win.

The numbered steps of a pass:

1. Stage by stage (a stage is a row dealt), up to `layers` layers each: expand every state of the layer.
2. A child counts as a position and is built and scored only if its key is new in this pass.
3. Every expanded state that may deal waits in the pool of the next stage.
4. The layer is cut to the best `width` children, alike ones last.
5. When the next stage opens the row is landed on the best of its pool, and the best `width` of those go on.
6. No win: the next pass is wider, has new noise and another filter on the moves.
"""

from __future__ import annotations

import numpy as np

from pipeline.engine.columns import lay, make_empty, put, turn_down
from pipeline.engine.compiler import jit
from pipeline.engine.evaluation import all_tops, mobility, noise, note_top, ranks_of, signature
from pipeline.engine.memory import (
    COMPACT_FROM,
    LAND_FACTOR,
    MAX_CHILDREN,
    MAX_MOVES,
    MAX_NODES,
    MAX_RUNS,
    MAX_WIDTH,
    MIN_POOL,
    POOL_FACTOR,
)
from pipeline.engine.moves import (
    NO_SPLIT,
    SPLIT_ANYWHERE,
    SPLIT_ONTO_SUIT,
    deal_row,
    full_key,
    list_moves,
    may_deal,
    play,
    stage_of,
)
from pipeline.engine.records import DEAL, DEAL_NON_EMPTY
from pipeline.engine.selection import choose, select
from pipeline.engine.table import ZERO, clear_table, grow_table, insert, table_full

u4, u8, i8 = np.uint32, np.uint64, np.int64
ZERO_I, ONE_I = i8(0), i8(1)  # as variables: a literal would be another type, compiled anew
PAUSED, WON, LIMIT, PASS_OVER, FINISHED, STUCK, NEW_WEIGHTS = 0, 1, 2, 3, 4, 5, 6
GO_ON = -1
FILL = i8(6)  # where too few runs are left to fill the columns, an empty one costs a sixth of a run of thirteen
EARLY_PASSES = 8  # with the tuned weights and growth; later ones differ more from one another
LATE_GROWTH = i8(115)
DEAL_I = i8(DEAL)
COMPLETE_MODE = 16  # every legal move; after the listed modes have nothing more to find


@jit
def lay_root(memory, cards, sizes, downs, sets_done):
    """Lay the root's columns with the weights in force: `cards` (uint8) bottom to top, `sizes` and `downs` a column."""
    m = memory[0]
    s = m.root
    make_empty(m)
    s.score = m.w.set_done * sets_done
    s.done = sets_done
    s.dealt = s.depth = s.node = s.sig = 0
    free, c = ONE_I, ZERO_I
    s.cols[:] = u4(0)
    for i in range(m.columns):
        col = ZERO_I
        for j in range(i8(sizes[i])):
            card = i8(cards[c])
            c += 1
            if j < i8(downs[i]):
                lay(m, free, col, card, ONE_I)
                turn_down(m, free + 1, col, card, free)
                col = free + 1
                free += 2
            else:
                put(m, free, col, card, ONE_I)
                col = free
                free += 1
        s.cols[i] = col
        s.score += m.runs[col].value
    m.first_run = free
    m.free_run = free
    s.key = full_key(m, s)


@jit
def set_up(memory, cards, sizes, downs, stock, sets_done):
    """Begin a search: see `lay_root`; `stock` (uint8) in deal order."""
    m = memory[0]
    m.stock_size = len(stock)
    for j in range(len(stock)):
        m.stock[j] = stock[j]
    m.last_stage = (m.stock_size + m.columns - 1) // m.columns
    lay_root(memory, cards, sizes, downs, sets_done)
    m.positions = m.expanded = m.passes = m.in_pass = m.finished_modes = m.n_states = 0
    m.full_width = m.first_width
    m.weighed = 0
    m.most_runs = 0


@jit
def begin_pass(m):
    """Start over: the root alone, an empty table, the next mode and noise.

    Returns GO_ON, LIMIT, FINISHED, STUCK or NEW_WEIGHTS.
    """
    if m.positions >= m.limit:
        return LIMIT
    if m.passes >= EARLY_PASSES and m.weighed != m.passes:
        m.weighed = m.passes
        return NEW_WEIGHTS
    if m.passes == 0:
        m.split = SPLIT_ANYWHERE
        clear_table(m)
        empty = list_moves(m, m.root)
        if m.n_moves == 0 and not may_deal(m, m.root, empty):
            m.positions += 1
            m.expanded += 1
            return STUCK
    else:
        growth = m.growth if m.passes < EARLY_PASSES else LATE_GROWTH
        m.full_width = min(max(m.full_width * growth // 100, m.full_width + 1), MAX_WIDTH)
    m.mode = COMPLETE_MODE
    for k in range(m.n_modes):
        mode = m.modes[(m.passes + k) % m.n_modes]
        if not m.finished_modes >> mode & 1:
            m.mode = mode
            break
    if m.finished_modes >> m.mode & 1:
        return FINISHED
    m.pass_width = max(m.full_width // m.narrowing, 1) if m.mode == COMPLETE_MODE else m.full_width
    onto_suit = SPLIT_ONTO_SUIT if m.mode & 1 else NO_SPLIT
    m.split = SPLIT_ANYWHERE if m.mode == COMPLETE_MODE else onto_suit
    m.force, m.considerate, m.turns = m.mode >> 1 & 1, m.mode >> 2 & 1, m.mode >> 3 & 1
    m.passes += 1
    m.seed = u8(m.passes)
    m.no_way_on = 0
    m.cut = m.births = m.stage = m.layer = m.current = m.n_nodes = 0
    m.n_entries[:] = 0
    m.free_run = m.first_run
    m.compact_at = COMPACT_FROM
    m.stage = stage_of(m, i8(m.root.dealt))
    set_width(m)
    m.states[0, 0] = m.root
    m.values[0, 0] = 0
    m.n_states = 1
    add_node(m, ZERO_I, DEAL_I)
    clear_table(m)
    insert(m, m.root.key)
    m.positions += 1
    m.in_pass = 1
    return GO_ON


@jit
def set_width(m):
    """Set the width of the stage: the last one has its own."""
    percent = m.last_width if m.stage == m.last_stage else 100
    m.width = min(max(m.pass_width * percent // 100, 1), MAX_WIDTH)


@jit
def add_node(m, parent, move):
    """Note how a survivor was reached; returns its number."""
    node = m.n_nodes
    m.nodes[node].parent = parent
    m.nodes[node].move = move
    m.n_nodes = node + 1
    return node


@jit
def add_child(m, s, t, slot, key, move, empty):
    """Score t, a new child of s whose columns are noted, and put it among the children; returns it."""
    tops = all_tops(m)
    ranks = ranks_of(tops)
    value = i8(t.score) + mobility(m, tops, ranks, empty) - m.w.depth * (i8(s.depth) + 1) + noise(m, key)
    if m.tight:  # the fuller the table, the sooner a row can be dealt
        value -= m.run_score[13] // FILL * empty
    child = m.children[m.n_children]
    child.order = (value << 32) + m.births
    child.key = key
    child.signature = signature(t.sig, t.done, ranks)
    child.slot = slot
    child.score = t.score
    child.sig = t.sig
    child.done = t.done
    child.move = move
    m.n_children += 1
    m.births += 1
    return child


@jit
def note_win(m, s, move):
    """Remember how the game was won."""
    m.win_node = i8(s.node)
    m.win_move = move
    return WON


@jit
def expand(m, s, slot):
    """Add every new position after s to the children; returns GO_ON, WON or LIMIT."""
    m.expanded += 1
    empty = list_moves(m, s)
    t = m.spare
    first = m.n_children
    for j in range(m.n_moves):
        key = m.move_key[j]
        if insert(m, key):
            if m.positions == m.limit:
                return LIMIT
            m.positions += 1
            move = i8(m.move[j])
            a, b = move & 15, move >> 4 & 15
            m.spare = s
            m.free_run = play(m, t, move)
            if i8(t.done) >= m.sets_needed:  # a deal may complete several sets
                return note_win(m, s, move)
            a_run, b_run = i8(t.cols[u8(a)]), i8(t.cols[u8(b)])
            a_top, a_want, a_chunk = m.top_bit[u8(a)], m.want_bit[u8(a)], m.chunk_bit[u8(a)]
            b_top, b_want, b_chunk = m.top_bit[u8(b)], m.want_bit[u8(b)], m.chunk_bit[u8(b)]
            note_top(m, a, a_run)
            note_top(m, b, b_run)
            empties = m.empty_columns - (b_top == ZERO) + (m.top_bit[u8(a)] == ZERO) + (m.top_bit[u8(b)] == ZERO)
            child = add_child(m, s, t, slot, key, move, empties)
            child.source_run = a_run
            child.target_run = b_run
            m.top_bit[u8(a)], m.want_bit[u8(a)], m.chunk_bit[u8(a)] = a_top, a_want, a_chunk
            m.top_bit[u8(b)], m.want_bit[u8(b)], m.chunk_bit[u8(b)] = b_top, b_want, b_chunk
    if m.n_children - first > m.brood:
        cull(m, first)
    if may_deal(m, s, empty):
        return offer_deal(m, s, slot)
    return GO_ON


@jit
def cull(m, first):
    """Keep the best `brood` of the children from `first` on: brothers are alike."""
    for k in range(first, first + m.brood):
        best = k
        for j in range(k + 1, m.n_children):
            if m.children[u8(j)].order > m.children[u8(best)].order:
                best = j
        if best != k:
            m.children[MAX_CHILDREN - 1] = m.children[u8(k)]
            m.children[u8(k)] = m.children[u8(best)]
            m.children[u8(best)] = m.children[MAX_CHILDREN - 1]
    m.n_children = first + m.brood
    m.cut = 1


@jit
def offer_deal(m, s, slot):
    """Let s wait for the next stage; a deal within the stage is played at once. Returns GO_ON, WON or LIMIT."""
    row = m.columns
    if m.deal == DEAL_NON_EMPTY:
        row = 0
        for i in range(m.columns):
            row += m.runs[s.cols[i]].len != 0
        row = max(row, 1)
    stage = stage_of(m, min(i8(s.dealt) + row, m.stock_size))
    if stage == m.stage:
        return land(m, s, slot)
    pool = 1 if stage == m.last_stage else 0
    e = m.entries[pool, m.n_entries[pool]]
    e.order = (i8(m.values[m.current, slot]) << 32) + m.births
    e.signature = signature(s.sig, s.done, ranks_of(m.tops))
    e.state = s
    m.births += 1
    m.n_entries[pool] += 1
    return GO_ON


@jit
def land(m, s, slot):
    """Deal on s; if the position is new, it is a child. Returns GO_ON, WON or LIMIT."""
    t = m.spare
    m.spare = s
    deal_row(m, t)
    key = full_key(m, t)
    if not insert(m, key):
        return GO_ON
    if m.positions == m.limit:
        return LIMIT
    m.positions += 1
    if i8(t.done) >= m.sets_needed:  # a deal may complete several sets
        return note_win(m, s, DEAL_I)
    empties = ZERO_I
    for i in range(m.columns):
        note_top(m, i, i8(t.cols[i]))
        empties += m.top_bit[i] == ZERO
    add_child(m, s, t, slot, key, DEAL_I, empties)
    return GO_ON


@jit
def promote(m, s, child):
    """Turn s, a copy of the parent, into the child for good."""
    move = i8(child.move)
    node = add_node(m, i8(s.node), move)
    if move == DEAL:
        m.free_run = deal_row(m, s)
    else:
        s.cols[u8(move & 15)] = child.source_run
        s.cols[u8(move >> 4 & 15)] = child.target_run
        s.score = child.score
        s.sig = child.sig
        s.done = child.done
    s.key = child.key
    s.depth += 1
    s.node = node


@jit
def open_stage(m):
    """Land the next row on the best of the stage's pool and keep the best; returns GO_ON, WON or LIMIT."""
    pool = 1 if m.stage == m.last_stage else 0
    entries = m.entries[pool]
    n = select(m, m.entries[pool], m.n_entries[pool], LAND_FACTOR * m.width)
    m.n_entries[pool] = m.tight = 0
    m.n_children = 0
    for i in range(n):
        status = land(m, entries[i].state, i)
        if status != GO_ON:
            return status
        grow_table(m)
    n = choose(m, m.children, m.n_children, m.width)
    for i in range(n):
        child = m.children[m.kept[u8(i)]]
        m.states[m.current, i] = entries[child.slot].state
        promote(m, m.states[m.current, i], child)
        m.values[m.current, i] = child.order >> 32
    m.n_states = n
    m.layer = 0
    return GO_ON


@jit
def run_layer(m):
    """Expand every state of the layer and keep the best children; returns GO_ON, WON or LIMIT."""
    most = max(POOL_FACTOR * m.width, MIN_POOL)
    m.no_way_on = m.n_entries[0] + m.n_entries[1] == 0
    m.n_children = 0
    for slot in range(m.n_states):
        status = expand(m, m.states[m.current, slot], slot)
        if status != GO_ON:
            return status
        grow_table(m)
        if m.free_run + 2 * MAX_MOVES > MAX_RUNS:  # the rest of the layer is not expanded
            m.cut = 1
            break
        if m.n_children + MAX_MOVES >= MAX_CHILDREN:
            m.n_children = select(m, m.children, m.n_children, m.width)
        for pool in range(2):
            if m.n_entries[pool] > most:
                m.n_entries[pool] = select(m, m.entries[pool], m.n_entries[pool], LAND_FACTOR * m.width)
    n = choose(m, m.children, m.n_children, m.width)
    after = 1 - m.current
    for i in range(n):
        child = m.children[m.kept[u8(i)]]
        m.states[after, i] = m.states[m.current, child.slot]
        promote(m, m.states[after, i], child)
        m.values[after, i] = child.order >> 32
    m.current = after
    m.n_states = n
    m.layer += 1
    return GO_ON


@jit
def has_room(m):
    """Whether the next layer fits; the arena is compacted when it is nearly full."""
    m.most_runs = max(m.most_runs, m.free_run)
    if m.free_run > m.compact_at:
        compact_runs(m)
        m.compact_at = min(max(COMPACT_FROM, 4 * m.free_run), 3 * MAX_RUNS // 4)
    return 8 * m.free_run < 7 * MAX_RUNS and m.n_nodes + MAX_WIDTH < MAX_NODES and not table_full(m)


@jit
def run_pass(m, pause):
    """Go on with the pass; returns PAUSED, WON, LIMIT or PASS_OVER."""
    while True:
        layers = m.last_layers if m.stage == m.last_stage else m.layers
        room = has_room(m)
        if not room or m.n_states == 0 or m.layer >= layers:
            if not room or m.n_states:
                m.cut = 1
            if not room or m.stage >= m.last_stage:
                break
            m.stage += 1
            set_width(m)
            status = open_stage(m)
        else:
            status = run_layer(m)
        if status != GO_ON:
            return status
        if m.positions >= pause:
            return PAUSED
    m.in_pass = 0
    if not m.cut:
        m.finished_modes |= 1 << m.mode
    return PASS_OVER


@jit
def search(memory, pause):
    """Search on until at least `pause` positions.

    Returns PAUSED, WON, LIMIT, FINISHED (nothing more to find), STUCK (there is no move at the root) or
    NEW_WEIGHTS (the next pass wants others: see `lay_root`).
    """
    m = memory[0]
    while True:
        if not m.in_pass:
            status = begin_pass(m)
            if status != GO_ON:
                return status
        status = run_pass(m, pause)
        if status != PASS_OVER:
            return status


@jit
def mark_state(m, s):
    """Mark the top runs of a state."""
    for i in range(len(s.cols)):
        m.forward[s.cols[i]] = 1


@jit
def move_state(m, s):
    """Let a state's columns follow their runs."""
    for i in range(len(s.cols)):
        s.cols[i] = m.forward[s.cols[i]]


@jit
def compact_runs(m):
    """Drop the runs that no state of the layer or the pools needs."""
    m.forward[: m.free_run] = u4(0)
    for i in range(m.n_states):
        mark_state(m, m.states[m.current, i])
    for pool in range(2):
        for i in range(m.n_entries[pool]):
            mark_state(m, m.entries[pool, i].state)
    for k in range(m.free_run - 1, m.first_run - 1, -1):
        if m.forward[u8(k)]:
            m.forward[m.runs[u8(k)].below] = 1
            m.forward[m.runs[u8(k)].ground] = 1
    for k in range(m.first_run):
        m.forward[u8(k)] = k
    end = m.first_run
    for k in range(m.first_run, m.free_run):
        if m.forward[u8(k)]:
            m.forward[u8(k)] = end
            m.runs[u8(end)] = m.runs[u8(k)]
            r = m.runs[u8(end)]
            r.below = m.forward[r.below]
            r.ground = m.forward[r.ground]
            end += 1
    m.free_run = end
    for i in range(m.n_states):
        move_state(m, m.states[m.current, i])
    for pool in range(2):
        for i in range(m.n_entries[pool]):
            move_state(m, m.entries[pool, i].state)


@jit
def trace(memory, node, moves):
    """Write the moves from the root to `node` into `moves`, the last one last in the array; returns their number."""
    m = memory[0]
    n = 0
    while node:
        n += 1
        moves[len(moves) - n] = m.nodes[node].move
        node = i8(m.nodes[node].parent)
    return n


@jit
def best_state(memory):
    """Node of the best state of the layer."""
    m = memory[0]
    best, node = i8(-(1 << 62)), 0
    for i in range(m.n_states):
        if m.values[m.current, i] > best:
            best = i8(m.values[m.current, i])
            node = i8(m.states[m.current, i].node)
    return node
